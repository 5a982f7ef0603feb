/* Options of a build with sanitizers. The shim runs with an empty environment and no standard error, so they cannot come
 * from outside, and reports go to files. Leaks are not looked for: that needs a tracer, which the shim does not allow. */

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *__asan_default_options(void) { return "detect_leaks=0:log_path=" SANITIZER_LOG; }
const char *__ubsan_default_options(void) { return "print_stacktrace=1:log_path=" SANITIZER_LOG; }
