// SPDX-License-Identifier: Apache-2.0
// Identity of a device: an open set of identifiers, so that contexts of different frameworks can be compared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <tenon/core/hashed_name.hpp>
#include <tenon/core/small_vector.hpp>

namespace tenon {
inline namespace v1 {

/// One kind of identifier of a device. An open set, like MemoryKind: a framework defines its own. All frameworks that
/// use one kind must give the same value for the same device, and different values for different devices. A handle of
/// one driver is therefore no identifier.
class DeviceIdKind : public NameOf<DeviceIdKind> {
 public:
  using NameOf::NameOf;
};

/// @name Kinds that several frameworks use. Values in the machine's byte order.
inline constexpr DeviceIdKind kPciAddress{"PCI address"};  ///< A PciAddress.
inline constexpr DeviceIdKind kDeviceUuid{"device UUID"};  ///< 16 bytes, as Vulkan's deviceUUID.
inline constexpr DeviceIdKind kDeviceLuid{"device LUID"};  ///< 8 bytes, as Windows gives them.
inline constexpr DeviceIdKind kDrmNode{"DRM node"};        ///< Device number (dev_t) of the render node, 8 bytes.
inline constexpr DeviceIdKind kHostCpu{"host CPU"};        ///< The CPU that runs this process: one byte, 1.

struct PciAddress {
  std::uint32_t domain = 0, bus = 0, device = 0, function = 0;
};

/// Result of the comparison of two identities.
enum class DeviceMatch : std::uint8_t { kUnknown, kSame, kDifferent };

/// All known identifiers of the device behind a context. A value; empty when none is known. @thread as a value.
class DeviceIdentity {
 public:
  static constexpr std::size_t kMaxBytes = 16;

  DeviceIdentity() = default;
  /// Adds the identifier of kind `kind`, or replaces it. T: at most 16 bytes without padding.
  template <typename T>
  DeviceIdentity& set(DeviceIdKind kind, const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>);
    static_assert(sizeof(T) <= kMaxBytes);
    Id made;
    made.kind = kind.hash();
    std::memcpy(made.bytes.data(), &value, sizeof value);
    for (Id& known : ids_)
      if (known.kind == made.kind) return known = made, *this;
    ids_.push_back(made);
    return *this;
  }
  bool has(DeviceIdKind kind) const {
    for (const Id& id : ids_)
      if (id.kind == kind.hash()) return true;
    return false;
  }
  bool empty() const { return ids_.empty(); }

  /// kDifferent if the values of any common kind differ; kSame if there is a common kind and all values are equal; else
  /// kUnknown.
  DeviceMatch compare(const DeviceIdentity& other) const {
    DeviceMatch match = DeviceMatch::kUnknown;
    for (const Id& mine : ids_) {
      for (const Id& theirs : other.ids_) {
        if (mine.kind != theirs.kind) continue;
        if (mine.bytes != theirs.bytes) return DeviceMatch::kDifferent;
        match = DeviceMatch::kSame;
      }
    }
    return match;
  }
  friend bool operator==(const DeviceIdentity& a, const DeviceIdentity& b) {
    if (a.ids_.size() != b.ids_.size()) return false;
    for (const Id& id : a.ids_)  // Kinds are distinct: what all of one side finds in the other is a permutation.
      if (!b.knows(id)) return false;
    return true;
  }
  /// True only when compare() gives kSame; false when it is unknown.
  bool same_device(const DeviceIdentity& other) const { return compare(other) == DeviceMatch::kSame; }

 private:
  struct Id {
    std::uint64_t kind = 0;
    std::array<std::uint8_t, kMaxBytes> bytes{};  ///< Shorter values end in zeros.
    friend bool operator==(const Id&, const Id&) = default;
  };
  bool knows(const Id& wanted) const {
    for (const Id& id : ids_)
      if (id == wanted) return true;
    return false;
  }
  SmallVector<Id, 3> ids_;
};

}  // namespace v1
}  // namespace tenon
