// SPDX-License-Identifier: Apache-2.0
// For test programs that start GStreamer: what the leak sanitizer must not report. Include it in one file of a program.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
/// GLib leaks its table of quarks each time it grows, on purpose: others read it without a lock. The stack ends in g_malloc,
/// so nothing more exact can be named; buffers are counted by the tests themselves.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:g_malloc\n"; }
#endif
