// SPDX-License-Identifier: Apache-2.0
// A display and its objects: configurations, surfaces, buffers, images. Contexts are in calls/.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <va/va.h>

#include <tenon/core/timeline.hpp>

#include <tenon/drivers/handles/wait.hpp>
#include <tenon/drivers/vaapi/objects/format.hpp>
#include <tenon/drivers/vaapi/objects/memory.hpp>
#include <tenon/drivers/vaapi/objects/object.hpp>
#include <tenon/drivers/vaapi/objects/spare_bytes.hpp>

namespace tenon::va {

class Worker;

/// One per vaInitialize. Holds the strings and tables that libva may read after a failed call. @thread any.
class Display {
 public:
  Display() = default;
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;
  ~Display() { destroy_ids_of(*this); }
  /// Keeps a worker with which another context may continue, in place of the one kept before; null: none.
  void keep(std::shared_ptr<Worker> worker) const noexcept;
  /// Releases the kept worker if none of its surfaces is left: no context can continue with it, and it holds its
  /// references.
  void forget_unreachable() const noexcept;

 private:
  mutable std::mutex mutex_;
  mutable std::shared_ptr<Worker> kept_;
};

class Config final : public Object {
 public:
  static constexpr Kind kKind = Kind::kConfig;
  Config(const Display& display, VAProfile profile, VAEntrypoint entrypoint, std::vector<VAConfigAttrib> attributes)
      : Object(display), profile(profile), entrypoint(entrypoint), attributes(std::move(attributes)) {}
  const VAProfile profile;
  const VAEntrypoint entrypoint;
  const std::vector<VAConfigAttrib> attributes;  ///< All attributes, with the client's choices.
  std::uint32_t attribute(VAConfigAttribType type) const noexcept;
};

/// One plane: its memory, offset and pitch.
struct SurfacePlane {
  std::shared_ptr<Memory> memory;
  std::uint32_t offset = 0, pitch = 0;
};

class Surface;

/// Works on surfaces after vaEndPicture has returned. @thread any.
class Worker {
 public:
  virtual ~Worker() = default;
  /// Begins deferred work, because a client waits for the result in this surface.
  virtual void hurry(const Surface& wanted) = 0;
};

class Surface final : public Object {
 public:
  static constexpr Kind kKind = Kind::kSurface;
  Surface(const Display& display, const Format& format, std::uint32_t width_px, std::uint32_t height_px,
          std::array<SurfacePlane, 3> planes)
      : Object(display), format(format), width_px(width_px), height_px(height_px), planes(std::move(planes)) {}
  const Format& format;
  const std::uint32_t width_px, height_px;
  const std::array<SurfacePlane, 3> planes;

  Pixels pixels() const noexcept;
  bool read_only() const noexcept;
  /// Whether all planes are in one memory, so that one image buffer can show them.
  bool is_one_memory() const noexcept;
  /// Whether any of its memory was imported.
  bool is_imported() const noexcept;
  /// Whether another API or process may read its memory without a VA-API call.
  bool is_seen_elsewhere() const noexcept;
  void begin(Access access) const noexcept;
  void end(Access access) const noexcept;

  /// @name Work of a Worker that runs after vaEndPicture
  /// @{
  void begin_work(std::weak_ptr<Worker> worker);
  /// @param status  Status of the picture, which vaSyncSurface returns.
  void end_work(VAStatus status) noexcept;
  bool is_busy() const noexcept;
  bool is_worked_on_by(const Worker& worker) const noexcept;
  /// The worker of the last work; null if it was destroyed.
  std::shared_ptr<Worker> worker() const noexcept;
  /// Waits until all work is done. False: the deadline passed.
  bool wait(Deadline deadline) const;
  /// Makes the worker begin deferred work.
  void hurry() const;
  /// @}

  std::atomic<VAStatus> error{VA_STATUS_SUCCESS};  ///< Status of the last picture; vaSyncSurface returns it.
  std::atomic<int> derived{0};                     ///< Number of images derived from it.

 private:
  mutable handles::Futex works_;  ///< Number of unfinished pieces of work.
  mutable std::mutex mutex_;
  std::weak_ptr<Worker> worker_;  ///< Worker of the last work.
};

/// Brackets the CPU's access to a surface, after the work on it. If that work misses the deadline, the access goes on
/// with the current pixels.
class SurfaceAccess {
 public:
  SurfaceAccess(const Surface& surface, Access access) : surface_(surface), access_(access) {
    surface.wait(default_deadline());
    surface.begin(access);
  }
  ~SurfaceAccess() { surface_.end(access_); }
  SurfaceAccess(const SurfaceAccess&) = delete;
  SurfaceAccess& operator=(const SurfaceAccess&) = delete;

 private:
  const Surface& surface_;
  const Access access_;
};

class Buffer final : public Object {
 public:
  static constexpr Kind kKind = Kind::kBuffer;
  /// Allocates its bytes. A large buffer may get the uncleared bytes of an earlier one.
  Buffer(const Display& display, VABufferType type, std::size_t element_bytes, std::uint32_t elements)
      : Object(display),
        type(type),
        element_bytes(element_bytes),
        elements(elements),
        own_(take_bytes(element_bytes * elements)) {}
  /// The bytes of an image, in memory of its own or in a surface.
  Buffer(const Display& display, std::shared_ptr<Memory> memory, Ref<Surface> surface)
      : Object(display),
        type(VAImageBufferType),
        element_bytes(memory->size_bytes()),
        elements(1),
        memory_(std::move(memory)),
        surface_(std::move(surface)) {}
  ~Buffer() override { give_back_bytes(std::move(own_)); }
  const VABufferType type;
  const std::size_t element_bytes;
  std::atomic<std::uint32_t> elements;  ///< May shrink (vaBufferSetNumElements).
  std::atomic<int> mapped{0};

  std::span<std::uint8_t> bytes() noexcept {
    return memory_ ? std::span(memory_->data(), memory_->size_bytes()) : std::span(own_);
  }
  /// The bytes of the current number of elements.
  std::span<const std::uint8_t> used() noexcept { return bytes().first(element_bytes * elements.load()); }
  const std::shared_ptr<Memory>& memory() const noexcept { return memory_; }
  const Ref<Surface>& surface() const noexcept { return surface_; }
  std::uint32_t capacity() const noexcept {
    return element_bytes == 0 || memory_ ? 1 : static_cast<std::uint32_t>(own_.size() / element_bytes);
  }

  /// @name An encoder's output (VAEncCodedBufferType)
  /// Stores as much as fits. False if the buffer is too small.
  bool store_coded(std::span<const std::uint8_t> coded, std::uint32_t status);
  VACodedBufferSegment segment{};

 private:
  std::vector<std::uint8_t> own_;
  std::shared_ptr<Memory> memory_;
  Ref<Surface> surface_;
};

class Image final : public Object {
 public:
  static constexpr Kind kKind = Kind::kImage;
  Image(const Display& display, const Format& format, Ref<Buffer> buffer)
      : Object(display), format(format), buffer(std::move(buffer)) {}
  ~Image() override {
    if (buffer->surface()) buffer->surface()->derived.fetch_sub(1);
  }
  const Format& format;
  const Ref<Buffer> buffer;
  VAImage about{};
  Pixels pixels() const noexcept;
};

}  // namespace tenon::va
