// SPDX-License-Identifier: Apache-2.0
// Runs pieces of work with each of their calls failing in turn, and says what became of it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <tenon/tests/failing_calls/interposer.hpp>

namespace tenon_test {

/// A piece of work. It may be done any number of times.
struct Work {
  std::string name;
  /// Does it, and throws where the result is wrong.
  std::function<void()> run;
  std::vector<CallKind> kinds = {CallKind::kNew,  CallKind::kMalloc,     CallKind::kMap,
                                 CallKind::kFile, CallKind::kDescriptor, CallKind::kThread};
  /// What is done once in a process: each failure has a process of its own, forked before this one has threads.
  bool is_first = false;
  /// Handles of drivers that are alive.
  std::function<std::size_t()> handles = [] { return std::size_t{0}; };
  /// For CallKind::kNative: makes the n-th native call from now on fail (0: none), and says whether it has failed since.
  std::function<void(long)> fail_native = {};
  std::function<bool()> native_failed = {};
};

/// The main function of a program of such work:
///   list                                the names, and the kinds of each
///   WORK KIND [--from N] [--seconds S]  calls from the N-th on; in so many seconds as many as there is time for, spread over all. Each
///                                       place of the code once: calls whose stacks are the same are one. KIND all: one after the other
///   WORK KIND --only N                  the N-th call alone
/// It writes a line for each call that did harm, and a last one with the counts. A crash ends the process, after the stack of the failure
/// and its own were written.
int main_of(const std::vector<Work>& all, int count, char** arguments);

}  // namespace tenon_test
