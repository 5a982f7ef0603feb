import { describe } from "vitest";
import { describeWithTmux } from "../support/needs.js";
import { limitsSuite } from "./limits-suite.js";
import { createPtyWorld } from "./pty-world.js";
import { createTmuxWorld } from "./tmux-world.js";

describe("on pty", () => limitsSuite(createPtyWorld));
describeWithTmux("on tmux", () => limitsSuite(createTmuxWorld));
