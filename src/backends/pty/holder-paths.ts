/** Where the holder of a folder listens and writes its log. */

import { join } from "node:path";
import { socketPathIn } from "../../host/socket-path.js";

export const holderSocketPath = (folder: string) => socketPathIn(folder, "holder.sock");
export const holderLogPath = (folder: string) => join(folder, "holder.log");
