// SPDX-License-Identifier: Apache-2.0
// The mark of the exported symbols of a shared library.
#pragma once

#ifdef _WIN32
/// Empty: the linker of MinGW exports all symbols of a DLL in which none is marked.
#define TENON_API
#else
#define TENON_API __attribute__((visibility("default")))
#endif
