// SPDX-License-Identifier: Apache-2.0
// The list of exchanges that bridges add.
#include <tenon/frameworks/dlpack/exchange.hpp>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <vector>

#include <tenon/core/process_wide.hpp>

namespace tenon {
inline namespace v1 {
namespace dlpack {
namespace detail {

struct Exchanges {
  std::mutex mutex;
  std::vector<const DeviceExchange*> all;
  static Exchanges& process() { return process_wide<Exchanges>("dlpack exchanges 1"); }
};

/// The exchange of that number, in the order in which they were added; null: there are fewer.
TENON_INLINE const DeviceExchange* exchange_at(std::size_t number) {
  Exchanges& known = Exchanges::process();
  const std::lock_guard lock(known.mutex);
  return number < known.all.size() ? known.all[number] : nullptr;
}

/// The first exchange that `fits`, which is asked without the lock.
template <typename Fits>
const DeviceExchange* find(Fits fits) {
  for (std::size_t number = 0;; ++number) {
    const DeviceExchange* const each = exchange_at(number);
    if (!each || fits(each)) return each;
  }
}

}  // namespace detail

TENON_INLINE DeviceExchange::~DeviceExchange() = default;

TENON_INLINE void add_exchange(const DeviceExchange& exchange) {
  detail::Exchanges& known = detail::Exchanges::process();
  const std::lock_guard lock(known.mutex);
  if (std::find(known.all.begin(), known.all.end(), &exchange) == known.all.end()) known.all.push_back(&exchange);
}

TENON_INLINE const DeviceExchange* find_exchange(std::int32_t device_type) {
  return detail::find([&](const DeviceExchange* each) { return each->takes(device_type); });
}

TENON_INLINE const DeviceExchange* find_exchange(const Tensor& tensor) {
  return detail::find([&](const DeviceExchange* each) { return each->device_of(tensor).has_value(); });
}

}  // namespace dlpack
}  // namespace v1
}  // namespace tenon
