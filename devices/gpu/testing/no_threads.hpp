// SPDX-License-Identifier: Apache-2.0
// A process that starts no more threads.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace tenon::gpu_testing {

/// While it lives, std::thread fails: each would have a larger stack than there are addresses.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t endless;
    pthread_attr_init(&endless);
    pthread_attr_setstacksize(&endless, std::size_t{1} << 47);
    pthread_setattr_default_np(&endless);
    pthread_attr_destroy(&endless);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_{};
};

}  // namespace tenon::gpu_testing
