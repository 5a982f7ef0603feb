/**
 * The packages whose code becomes part of Reeve's own files. They are devDependencies: an installation does not
 * need them.
 */
export const BUNDLED = [
	"@agentclientprotocol/sdk",
	"@modelcontextprotocol/sdk",
	"@types/ws",
	"@xterm/addon-serialize",
	"@xterm/headless",
	"commander",
	"croner",
	"nodemailer",
	"re2js",
	"uqr",
	"ws",
	"yaml",
	"zod",
];
