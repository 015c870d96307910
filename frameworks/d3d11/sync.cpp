// SPDX-License-Identifier: Apache-2.0
// Event queries as points, and keyed mutexes.
#include <tenon/frameworks/d3d11/sync.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/polling.hpp>
#include <tenon/frameworks/d3d11/context.hpp>

namespace tenon {
inline namespace v1 {
namespace d3d11 {
namespace detail {

/// One query; its only point is 1.
class QueryTimeline final : public Timeline {
 public:
  explicit QueryTimeline(Ref<Device> device) : device_(std::move(device)) {
    const D3D11_QUERY_DESC wanted{D3D11_QUERY_EVENT, 0};
    native::call("CreateQuery", "a point of '" + device_->name() + "'", device_->get(),
                 [&] { return device_->get()->CreateQuery(&wanted, query_.out()); });
    const std::lock_guard lock(device_->mutex());
    device_->immediate()->End(query_.get());
    device_->immediate()->Flush();  // Or the query might never be reached.
  }
  std::string_view name() const override { return "d3d11.query"; }
  PointState query(std::uint64_t) const override {
    const HRESULT result = ask();
    return result == S_OK ? PointState::kReached : result == S_FALSE ? PointState::kPending : PointState::kFailed;
  }
  void wait(std::uint64_t, Deadline deadline) const override {
    HRESULT result = S_FALSE;
    if (!poll_until(deadline, [&] { return (result = ask()) != S_FALSE; }))
      throw Error(Code::kDeadlineExceeded, "d3d11: the commands of '" + device_->name() + "' did not end in time",
                  "GetData", result);
    if (result != S_OK) native::fail("GetData", "waiting for commands", device_->get(), result);
  }

 private:
  HRESULT ask() const {
    const std::lock_guard lock(device_->mutex());
    BOOL done = FALSE;
    return device_->immediate()->GetData(query_.get(), &done, sizeof done, 0);
  }

  Ref<Device> device_;
  mutable Com<ID3D11Query> query_;
};

}  // namespace detail

TENON_INLINE TimelinePoint point(const Context& context) {
  const auto* known = context ? context.as<D3D11Context>() : nullptr;
  if (!known) throw Error(Code::kInvalidArgument, "d3d11::point: it takes a context of d3d11");
  return TimelinePoint(make_ref<detail::QueryTimeline>(known->device_ref()), 1);
}
TENON_INLINE void wrote(const Tensor& tensor) {
  tensor.memory()->hazards().wrote(point(tensor.context()), written_bytes(tensor));
}
TENON_INLINE void reads(const Tensor& tensor) { tensor.memory()->hazards().read_until(point(tensor.context())); }

TENON_INLINE KeyedMutexGuard::KeyedMutexGuard(IUnknown* resource, std::uint64_t key, std::uint64_t release_key,
                                              Deadline deadline)
    : release_key_(release_key) {
  if (!resource) throw Error(Code::kInvalidArgument, "d3d11: keyed mutex: the resource is null");
  const HRESULT lacks = resource->QueryInterface(__uuidof(IDXGIKeyedMutex), reinterpret_cast<void**>(mutex_.out()));
  if (FAILED(lacks))
    throw Error(Code::kUnimplemented,
                "d3d11: the resource has no keyed mutex (" + native::name_of(lacks) +
                    "); make it with D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX, which not every runtime has",
                "QueryInterface(IDXGIKeyedMutex)", lacks);
  const Deadline now = Clock::now();  // A deadline long past must not overflow the difference.
  const auto left = deadline <= now ? 0 : std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
  const auto wait_ms = std::clamp<std::int64_t>(left, 0, 1'000'000'000);
  const HRESULT result = mutex_->AcquireSync(key, static_cast<DWORD>(wait_ms));
  const std::string what = "d3d11: keyed mutex with key " + std::to_string(key);
  if (result == static_cast<HRESULT>(WAIT_TIMEOUT))
    throw Error(Code::kDeadlineExceeded, what + ": it was not released with this key in time (WAIT_TIMEOUT)",
                "AcquireSync", result);
  if (result == static_cast<HRESULT>(WAIT_ABANDONED))
    throw Error(Code::kDataLoss,
                what + ": its last holder ended without releasing it (WAIT_ABANDONED); make the texture anew",
                "AcquireSync", result);
  if (result != S_OK) native::fail("AcquireSync", "keyed mutex with key " + std::to_string(key), nullptr, result);
}

TENON_INLINE KeyedMutexGuard::~KeyedMutexGuard() { mutex_->ReleaseSync(release_key_); }

}  // namespace d3d11
}  // namespace v1
}  // namespace tenon
