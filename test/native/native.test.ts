/** The shipped binary of this platform, or the one that `REEVE_SHIM` names. */

import { shimPath } from "../../src/native/find-binary.js";
import { describeNative } from "./support/describe-native.js";

describeNative("the native program", shimPath);
