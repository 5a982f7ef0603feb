import { limitsSuite } from "./limits-suite.js";
import { createPtyWorld } from "./pty-world.js";

limitsSuite(createPtyWorld);
