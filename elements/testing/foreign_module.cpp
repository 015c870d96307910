// SPDX-License-Identifier: Apache-2.0
// A module of elements of a release that is not this one.
extern "C" __attribute__((visibility("default"))) const char* tenon_elements_release() { return "9.9.0"; }
extern "C" __attribute__((visibility("default"))) void tenon_elements(void*) { __builtin_trap(); }
