// SPDX-License-Identifier: Apache-2.0
// Threads, and an error that says whose could not be started.
#pragma once

#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {

/// A thread that runs `body`. @tparam Thread  std::thread or std::jthread. @param owner  For the message: "pipeline".
/// @errors kResourceExhausted: the system starts no more threads.
template <typename Thread = std::thread, typename Body>
Thread new_thread(std::string_view owner, Body&& body) {
  try {
    return Thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    throw Error(Code::kResourceExhausted,
                std::string(owner) + ": no thread can be started: " + error.code().message() +
                    "; raise the limit of processes and threads (ulimit -u), or end some",
                "std::thread", error.code().value());
  }
}

}  // namespace v1
}  // namespace tenon
