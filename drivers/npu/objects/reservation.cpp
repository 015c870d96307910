// SPDX-License-Identifier: Apache-2.0
// Reserves address ranges.
#include <sys/mman.h>
#include <iterator>

#include <tenon/drivers/handles/objects.hpp>
#include <tenon/drivers/npu/objects/reservation.hpp>

namespace tenon::npu {

std::shared_ptr<Reservation> Reservation::make(const void* hint, std::size_t size) {
  void* const data =
      ::mmap(const_cast<void*>(hint), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  return std::shared_ptr<Reservation>(new Reservation(static_cast<std::byte*>(data), size));
}

Reservation::~Reservation() { ::munmap(data_, size_); }

Reservations& Reservations::all() noexcept {
  static const handles::Immortal<Reservations> reservations;
  return *reservations;
}

void Reservations::insert(const Context* context, std::shared_ptr<Reservation> reservation) {
  const std::lock_guard lock(mutex_);
  const void* const begin = reservation->data();
  contexts_[context].emplace(begin, std::move(reservation));
}

std::shared_ptr<Reservation> Reservations::find(const Context* context, const void* address, std::size_t size) const {
  const std::lock_guard lock(mutex_);
  const auto owner = contexts_.find(context);
  if (owner == contexts_.end()) return nullptr;
  const auto behind = owner->second.upper_bound(address);
  if (behind == owner->second.begin()) return nullptr;
  const std::shared_ptr<Reservation>& found = std::prev(behind)->second;
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - found->data());
  return offset <= found->size() && size <= found->size() - offset ? found : nullptr;
}

bool Reservations::remove(const Context* context, const void* address, std::size_t size) {
  std::shared_ptr<Reservation> removed;  // Released after the lock.
  const std::lock_guard lock(mutex_);
  const auto owner = contexts_.find(context);
  if (owner == contexts_.end()) return false;
  const auto entry = owner->second.find(address);
  if (entry == owner->second.end() || entry->second->size() != size) return false;
  removed = std::move(entry->second);
  owner->second.erase(entry);
  return true;
}

void Reservations::remove_all(const Context* context) noexcept {
  const std::lock_guard lock(mutex_);
  contexts_.erase(context);
}

}  // namespace tenon::npu
