// SPDX-License-Identifier: Apache-2.0
// Calls of the system that fail when a test says so. The library stands in front of the C and C++ libraries: a program that links it
// before others has its functions instead of theirs, and so have all libraries that the program loads. It passes calls on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon_test {

/// Kinds of calls. The system's are counted where they are made by a library of Tenon's, directly or through the C++ library.
enum class CallKind : int {
  kNew,         ///< operator new in all its forms: std::bad_alloc, or null where the form says so.
  kMalloc,      ///< malloc, calloc, realloc, posix_memalign, aligned_alloc: ENOMEM.
  kMap,         ///< mmap: ENOMEM.
  kFile,        ///< open, openat, fopen, fdopen, opendir: EMFILE.
  kDescriptor,  ///< What makes other descriptors: eventfd, pipe2, socket, memfd_create, dup...: EMFILE.
  kThread,      ///< pthread_create: EAGAIN.
  kOpenCl,      ///< OpenCL's entry points but those that release (opencl_layer.cpp): CL_OUT_OF_HOST_MEMORY.
  kGStreamer,   ///< GStreamer's functions but those that release, where Tenon calls them (gstreamer_calls.cpp).
  kNative,      ///< The native calls of one framework, which its own probe makes fail (Work::native).
};
inline constexpr int kCallKinds = 9;
/// "new", "malloc", "map", "file", "descriptor", "thread", "opencl", "gstreamer", "native".
const char* name_of(CallKind kind);

/// Begins to count the calls of a kind in all threads, and makes one of them fail. @param failing  From 1; 0: none.
void watch_calls(CallKind kind, long failing);

struct WatchedCalls {
  long count = 0;
  std::string failed;  ///< The function that failed; empty: the call was not reached.
};
/// Ends that.
WatchedCalls unwatch_calls();

/// For layers between Tenon and a driver, of whose calls each counts: whether this one is to fail. @thread any.
bool entry_point_fails(CallKind kind, const char* function);

/// The same for functions in front of a library's own, of whose calls those of Tenon's libraries count. @param caller  Where it returns to.
bool call_fails(CallKind kind, const char* function, const void* caller);

/// As watch_calls(kind, 0), and keeps for each call where it came from: a hash of the functions on the stack.
void watch_sites(CallKind kind);
/// Those of the calls until unwatch_calls(), in order.
std::vector<std::uint64_t> watched_sites();

/// Writes where the last failure was injected, as modules and offsets, for a program that is about to end. @thread a signal handler, too.
void write_failed_stack(int fd);

}  // namespace tenon_test
