// SPDX-License-Identifier: Apache-2.0
// Surfaces and images as planes.
#include <tenon/drivers/vaapi/objects/display.hpp>

#include <algorithm>
#include <utility>

namespace tenon::va {
namespace {

/// Calls visit(memory) once for each memory of a surface.
template <class Visit>
void each_memory(const Surface& surface, Visit visit) {
  for (std::size_t plane = 0; plane < surface.format.planes(); ++plane) {
    const Memory* memory = surface.planes[plane].memory.get();
    bool seen = false;
    for (std::size_t before = 0; before < plane; ++before) seen |= surface.planes[before].memory.get() == memory;
    if (!seen) visit(*memory);
  }
}

}  // namespace

std::uint32_t Config::attribute(VAConfigAttribType type) const noexcept {
  const auto found =
      std::find_if(attributes.begin(), attributes.end(), [&](const auto& one) { return one.type == type; });
  return found == attributes.end() ? VA_ATTRIB_NOT_SUPPORTED : found->value;
}

void Display::keep(std::shared_ptr<Worker> worker) const noexcept {
  {
    const std::lock_guard lock(mutex_);
    kept_.swap(worker);  // The previous worker is destroyed after the lock is released.
  }
  forget_unreachable();
}

void Display::forget_unreachable() const noexcept {
  std::shared_ptr<Worker> kept;
  {
    const std::lock_guard lock(mutex_);
    kept = kept_;
  }
  if (!kept) return;
  const auto count = static_cast<VAGenericID>(Slot::table().used());
  for (VAGenericID id = 1; id <= count; ++id) {
    const Ref<Surface> surface = acquire<Surface>(*this, id);
    if (surface && surface->worker() == kept) return;
  }
  const std::lock_guard lock(mutex_);
  if (kept_ == kept) kept_.reset();  // It is destroyed with `kept`.
}

Pixels Surface::pixels() const noexcept {
  std::array<std::uint8_t*, 4> data{};
  std::array<std::uint32_t, 4> pitch{};
  for (std::size_t plane = 0; plane < format.planes(); ++plane) {
    data[plane] = planes[plane].memory->data() + planes[plane].offset;
    pitch[plane] = planes[plane].pitch;
  }
  return pixels_of(format, width_px, height_px, data, pitch);
}

bool Surface::read_only() const noexcept {
  bool any = false;
  each_memory(*this, [&](const Memory& memory) { any |= memory.read_only(); });
  return any;
}

bool Surface::is_imported() const noexcept {
  bool any = false;
  each_memory(*this, [&](const Memory& memory) { any |= memory.is_imported(); });
  return any;
}

bool Surface::is_seen_elsewhere() const noexcept {
  bool any = false;
  each_memory(*this, [&](const Memory& memory) { any |= memory.is_seen_elsewhere(); });
  return any;
}

bool Surface::is_one_memory() const noexcept {
  int count = 0;
  each_memory(*this, [&](const Memory&) { ++count; });
  return count == 1;
}

void Surface::begin(Access access) const noexcept {
  each_memory(*this, [&](const Memory& memory) { memory.begin(access); });
}

void Surface::end(Access access) const noexcept {
  each_memory(*this, [&](const Memory& memory) { memory.end(access); });
}

void Surface::begin_work(std::weak_ptr<Worker> worker) {
  const std::lock_guard lock(mutex_);
  worker_ = std::move(worker);
  works_.add(1);
}

void Surface::end_work(VAStatus status) noexcept {
  error = status;
  works_.add(-1u);
}

bool Surface::is_busy() const noexcept { return works_.load() > 0; }

bool Surface::is_worked_on_by(const Worker& worker) const noexcept {
  const std::lock_guard lock(mutex_);
  return is_busy() && worker_.lock().get() == &worker;
}

std::shared_ptr<Worker> Surface::worker() const noexcept {
  const std::lock_guard lock(mutex_);
  return worker_.lock();
}

void Surface::hurry() const {
  std::shared_ptr<Worker> worker;
  {
    const std::lock_guard lock(mutex_);
    if (is_busy()) worker = worker_.lock();
  }
  if (worker) worker->hurry(*this);
}

bool Surface::wait(Deadline deadline) const {
  constexpr std::uint64_t kSpinNs = 0;  // Pictures take longer than a wake-up.
  hurry();
  return works_.wait([](std::uint32_t works) { return works == 0; }, handles::Deadline::at(deadline), kSpinNs);
}

bool Buffer::store_coded(std::span<const std::uint8_t> coded, std::uint32_t status) {
  const bool fits = coded.size() <= own_.size();
  std::copy_n(coded.begin(), std::min(coded.size(), own_.size()), own_.begin());
  segment = {};
  segment.size = static_cast<std::uint32_t>(std::min(coded.size(), own_.size()));
  segment.status = status | (fits ? 0 : VA_CODED_BUF_STATUS_SLICE_OVERFLOW_MASK);
  segment.buf = own_.data();
  return fits;
}

Pixels Image::pixels() const noexcept {
  std::array<std::uint8_t*, 4> data{};
  std::array<std::uint32_t, 4> pitch{};
  for (std::size_t plane = 0; plane < format.planes(); ++plane) {
    data[plane] = buffer->bytes().data() + about.offsets[plane];
    pitch[plane] = about.pitches[plane];
  }
  return pixels_of(format, about.width, about.height, data, pitch);
}

}  // namespace tenon::va
