import { join } from "node:path";

/** The compiler in Go takes a third of the time; the one in JavaScript is there for tools that import it. */
export const COMPILER = join("node_modules", "typescript-native", "bin", "tsc");
