// SPDX-License-Identifier: Apache-2.0
// For tests: an act that is to come while a thread waits. A pause before it is no proof that the thread waits by then: where the machine is
// busy, the thread may come to its wait later.
#pragma once

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#ifdef __linux__
#include <unistd.h>
#endif

namespace tenon_test {

/// The number of the calling thread, for await_sleep().
inline long this_thread() {
#ifdef __linux__
  return ::gettid();
#else
  return 1;  // A thread has a number.
#endif
}

/// Returns when that thread of this process sleeps or has ended, and `least` later; where the system does not tell, after 100 ms at
/// least. A thread that never sleeps is waited for 30 s.
inline void await_sleep(long thread, std::chrono::milliseconds least = std::chrono::milliseconds(5)) {
#ifdef __linux__
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int asleep = 0; asleep < 3 && std::chrono::steady_clock::now() < end;) {  // Once may be a lock on its way.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::string text;
    std::ifstream file(path);
    if (!std::getline(file, text)) break;
    const std::size_t state = text.rfind(") ") + 2;  // NUMBER (NAME) STATE ...
    asleep = state < text.size() && text[state] == 'S' ? asleep + 1 : 0;
  }
#else
  (void)thread;
  least = std::max(least, std::chrono::milliseconds(100));
#endif
  std::this_thread::sleep_for(least);
}

/// A thread that acts once the thread that calls this sleeps.
template <typename Act>
std::thread once_this_thread_sleeps(Act act, std::chrono::milliseconds least = std::chrono::milliseconds(5)) {
  return std::thread([waiter = this_thread(), least, act = std::move(act)]() mutable {
    await_sleep(waiter, least);
    act();
  });
}

}  // namespace tenon_test
