// SPDX-License-Identifier: Apache-2.0
// Pictures of a PipeWire video node.
#include <tenon/frameworks/pipewire/input.hpp>

#include <pipewire/pipewire.h>
#include <spa/buffer/meta.h>

#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include <tenon/core/any.hpp>
#include <tenon/core/deferred.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/hazards.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/frameworks/cpu/fd.hpp>
#include <tenon/frameworks/pipewire/connection.hpp>
#include <tenon/frameworks/pipewire/context.hpp>
#include <tenon/frameworks/pipewire/cycles.hpp>
#include <tenon/frameworks/pipewire/offered.hpp>

namespace tenon {
inline namespace v1 {
namespace pipewire {
namespace detail {

inline constexpr std::size_t kMaxBlocks = 4;

/// Where an address of this process lies in what is mapped there. Releases before 0.3.80 hand memory that the daemon allocated over
/// as an address (SPA_DATA_MemPtr) in a mapping of their own, which ends with the link; pictures may live longer.
/// @errors kUnavailable: it is not mapped.
TENON_INLINE std::uint64_t offset_of_address(const void* address, const std::string& doing) {
  const std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "re"), &std::fclose);
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::array<char, 4600> line{};  // A path of PATH_MAX, and the numbers before it.
  while (maps && std::fgets(line.data(), line.size(), maps.get())) {
    std::uintptr_t begin = 0, end = 0;
    std::uint64_t offset = 0;
    if (std::sscanf(line.data(), "%" SCNxPTR "-%" SCNxPTR " %*s %" SCNx64, &begin, &end, &offset) == 3 &&
        begin <= wanted && wanted < end)
      return offset + (wanted - begin);
  }
  throw Error(Code::kUnavailable, doing + ": a buffer's memory is not in /proc/self/maps");
}

}  // namespace detail

/// A buffer of the link, and the state of its current use: reused, so that a picture allocates no lease.
class Input::Slot final : public LeaseState, private Deferred {
 public:
  pw_buffer* buffer = nullptr;  ///< Null once it was removed from the stream. Guarded by the connection's mutex.
  std::array<detail::Block, detail::kMaxBlocks> blocks;
  std::size_t count = 0;
  Ref<State> owner;  ///< While a picture refers to it.

  bool writable() const override { return false; }

 protected:
  void dispose() noexcept override {
    if (is_ready())
      finish();
    else
      defer(*this);
  }

 private:
  bool is_ready() noexcept override {
    for (std::size_t i = 0; i < count; ++i)
      if (blocks[i].memory->has_hazards() && blocks[i].memory->hazards().busy()) return false;
    return true;
  }
  void finish() noexcept override;
};

class Input::State final : public RefCounted {
 public:
  State(const std::string& node, InputOptions options, Deadline deadline)
      : options_(std::move(options)),
        connection_((node.empty() ? std::string("pipewire: the source") : "pipewire: the source \"" + node + "\""),
                    options_.remote, options_.stop, deadline) {
    const std::optional<std::uint32_t> target =
        node.empty() ? std::nullopt : std::optional(connection_.find_node(node, deadline));
    is_linked_here_ = target.has_value();
    arrived_.reserve(64);  // The most buffers of a stream.
    try {
      const std::uint32_t own = connect(deadline);
      if (target) connection_.link(*target, own, deadline);
      std::unique_lock lock(connection_.mutex);
      const bool agreed = connection_.wait(lock, deadline, [this] { return format_ || fault_; });
      if (fault_) std::rethrow_exception(fault_);
      if (!agreed)
        throw Error(Code::kDeadlineExceeded,
                    doing() + (target ? ": the producer agreed on no format in time"
                                      : ": no session manager linked it to a producer in time; name a node"));
    } catch (...) {
      close();
      throw;
    }
  }

  /// Pictures that are out stay valid. The object itself lives until the last of them has gone.
  void close() noexcept {
    if (stream_) {
      const detail::Connection::Lock lock(connection_);
      pw_stream_destroy(stream_);
      const std::lock_guard guard(connection_.mutex);
      for (Slot* slot : std::exchange(slots_, {})) detach(slot);  // Those that PipeWire did not speak of.
      stream_ = nullptr;
    }
    connection_.close();
    bury();
  }

  Format format() const {
    const std::lock_guard lock(connection_.mutex);
    return format_.value_or(last_format_);
  }

  InputReport report() const {
    const std::lock_guard lock(connection_.mutex);
    InputReport told = report_;
    told.buffers = slots_.size();
    return told;
  }

  std::optional<Frame> read(Deadline deadline) {
    bury();
    for (;;) {
      std::optional<Taken> taken;
      {
        std::unique_lock lock(connection_.mutex);
        while (!(taken = take())) {
          if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
          connection_.check();
          if (is_linked_here_ && connection_.link_is_gone()) return std::nullopt;
          const std::uint64_t seen = events_;
          if (!connection_.wait(lock, deadline, [&] {
                return events_ != seen || fault_ || (is_linked_here_ && connection_.link_is_gone());
              }))
            throw late();
        }
      }
      // Without the lock: where it throws, the lease gives the buffer back.
      const Lease lease(taken->slot);
      const bool is_damaged = taken->is_damaged;
      std::optional<Frame> frame;
      if (!is_damaged) frame = frame_of(*taken, lease);
      const std::lock_guard lock(connection_.mutex);
      report_.read += frame ? 1 : 0;
      report_.damaged += is_damaged ? 1 : 0;
      report_.lost += taken->lost;
      if (frame) return frame;
    }
  }

  /// A picture over `slot` has gone. @thread any
  void give_back(Slot* slot) noexcept {
    {
      const std::lock_guard lock(connection_.mutex);
      --held_;
      slot->owner = nullptr;  // The caller has another reference.
      if (slot->buffer) {
        recycle(*slot->buffer);
        return;
      }
    }
    delete slot;  // Outside the lock: freeing memory drops its views, which calls foreign code.
  }

 private:
  const std::string& doing() const { return connection_.doing(); }

  /// @return the id of the stream's node.
  std::uint32_t connect(Deadline deadline) {
    static constexpr pw_stream_events kEvents = [] {
      pw_stream_events events{};
      events.version = PW_VERSION_STREAM_EVENTS;
      events.state_changed = [](void* data, pw_stream_state, pw_stream_state state, const char* error) {
        static_cast<State*>(data)->on_state(state, error);
      };
      events.param_changed = [](void* data, std::uint32_t id, const spa_pod* param) {
        if (id == SPA_PARAM_Format) static_cast<State*>(data)->on_format(param);
      };
      events.add_buffer = [](void* data, pw_buffer* buffer) { static_cast<State*>(data)->on_add(*buffer); };
      events.remove_buffer = [](void* data, pw_buffer* buffer) { static_cast<State*>(data)->on_remove(*buffer); };
      events.process = [](void* data) { static_cast<State*>(data)->on_process(); };
      return events;
    }();
    const std::vector<detail::Pod> formats = detail::format_choices(options_.format, options_.modifiers);
    std::vector<const spa_pod*> params = detail::pointers(formats);
    {
      const detail::Connection::Lock lock(connection_);
      stream_ = pw_stream_new(
          connection_.core(), options_.name.c_str(),
          pw_properties_new(PW_KEY_MEDIA_TYPE, "Video", PW_KEY_MEDIA_CATEGORY, "Capture", PW_KEY_MEDIA_ROLE, "Camera",
                            PW_KEY_NODE_NAME, options_.name.c_str(), nullptr));
      if (!stream_) throw Error(Code::kResourceExhausted, doing() + ": no stream", "pw_stream_new", errno);
      pw_stream_add_listener(stream_, &hook_, &kEvents, this);
      const auto flags =
          static_cast<pw_stream_flags>(PW_STREAM_FLAG_RT_PROCESS | PW_STREAM_FLAG_DONT_RECONNECT |
                                       (is_linked_here_ ? PW_STREAM_FLAG_NONE : PW_STREAM_FLAG_AUTOCONNECT));
      const int error = pw_stream_connect(stream_, PW_DIRECTION_INPUT, PW_ID_ANY, flags, params.data(),
                                          static_cast<std::uint32_t>(params.size()));
      if (error < 0) throw Error(Code::kUnavailable, doing() + ": it cannot be connected", "pw_stream_connect", error);
    }
    std::unique_lock lock(connection_.mutex);
    if (!connection_.wait(lock, deadline, [this] { return node_id_ != SPA_ID_INVALID || fault_; }))
      throw Error(Code::kDeadlineExceeded, doing() + ": the PipeWire daemon makes no node");
    if (fault_) std::rethrow_exception(fault_);
    return node_id_;
  }

  /// @name Callbacks, on PipeWire's threads. The mutex is free when they come.
  void changed_with_lock() {
    ++events_;
    connection_.changed.notify_all();
  }
  void note_fault(const std::exception_ptr& fault) {
    const std::lock_guard lock(connection_.mutex);
    if (!fault_) fault_ = fault;
    changed_with_lock();
  }
  /// Takes what came off the stream at once: a picture in a buffer that still waits there would be lost.
  void on_process() {
    const std::lock_guard lock(connection_.mutex);
    while (pw_buffer* const buffer = can_dequeue_ ? pw_stream_dequeue_buffer(stream_) : nullptr) {
      const spa_data& first = buffer->buffer->datas[0];
      if (auto* const busy = detail::meta<spa_meta_busy>(*buffer->buffer, SPA_META_Busy))
        __atomic_or_fetch(&busy->flags, detail::kTaken, __ATOMIC_SEQ_CST);
      const bool has_bytes = buffer->buffer->n_datas != 0 && (first.chunk->size != 0 || first.type == SPA_DATA_DmaBuf);
      if (has_bytes && arrived_.size() < arrived_.capacity())
        arrived_.push_back(buffer);
      else
        recycle(*buffer);  // A producer that only moves its cursor, or begins, sends no bytes.
    }
    changed_with_lock();
  }
  void on_state(pw_stream_state state, const char* error) {
    const std::lock_guard lock(connection_.mutex);
    if (state == PW_STREAM_STATE_ERROR && !fault_)
      fault_ = std::make_exception_ptr(Error(Code::kUnavailable, doing() + ": the stream is in error: " +
                                                                     (error ? error : "unknown") + "; open it again"));
    if (state == PW_STREAM_STATE_PAUSED) node_id_ = pw_stream_get_node_id(stream_);
    changed_with_lock();
  }
  void on_format(const spa_pod* param) {
    try {
      std::optional<Format> format;
      if (param) format = detail::parse_format(param);
      if (format) ask_for_buffers(*format);
      const std::lock_guard lock(connection_.mutex);
      if (format_) last_format_ = *format_;
      format_ = format;
      report_.formats += format ? 1 : 0;
      numbered_ = false;
      // The slots hold what is in use. Freeing memory calls foreign code, so it is not done here.
      unused_.insert(unused_.end(), memories_.begin(), memories_.end());
      memories_.clear();
      changed_with_lock();
    } catch (const Error& error) {
      note_fault(std::current_exception());
      pw_stream_set_error(stream_, -EINVAL, "%s", error.what());
    }
  }
  void ask_for_buffers(const Format& format) {
    detail::BufferWish one, many;
    one.count = many.count = std::clamp<std::uint32_t>(options_.buffers, 2, 64);
    one.most = many.most = 64;
    const Layout layout = one_block(format.info);
    one.size_bytes = layout.size_bytes;
    one.pitch_bytes = layout.pitch_bytes[0];
    many.least_blocks = 2;
    many.most_blocks = static_cast<std::uint32_t>(detail::kMaxBlocks);
    one.types = many.types =
        (1u << SPA_DATA_DmaBuf) | (format.has_modifier ? 0u : (1u << SPA_DATA_MemFd) | (1u << SPA_DATA_MemPtr));
    const detail::BufferWish wishes[] = {one, many};
    const auto made = detail::buffer_params(std::span(wishes).first(layout.planes > 1 ? 2 : 1));
    std::vector<const spa_pod*> params = detail::pointers(made);
    pw_stream_update_params(stream_, params.data(), static_cast<std::uint32_t>(params.size()));
  }

  void on_add(pw_buffer& buffer) {
    auto* const slot = new Slot;
    buffer.user_data = slot;
    try {
      const spa_buffer& given = *buffer.buffer;
      if (given.n_datas == 0 || given.n_datas > detail::kMaxBlocks)
        throw Error(Code::kUnimplemented, doing() + ": buffers of " + std::to_string(given.n_datas) + " blocks");
      for (std::uint32_t i = 0; i < given.n_datas; ++i) slot->blocks[slot->count++] = block_of(given.datas[i]);
    } catch (...) {
      slot->count = 0;
      note_fault(std::current_exception());
    }
    if (auto* const busy = detail::meta<spa_meta_busy>(*buffer.buffer, SPA_META_Busy))
      __atomic_or_fetch(&busy->flags, detail::kTells, __ATOMIC_SEQ_CST);
    const std::lock_guard lock(connection_.mutex);
    slot->buffer = &buffer;
    can_dequeue_ = true;
    slots_.push_back(slot);
    if (slot->count != 0) report_.lies_in = slot->blocks[0].memory->fd_kind() == FdKind::kDmabuf ? "dma-buf" : "memfd";
  }

  /// The part of a memory that a block lies in. Buffers that share a descriptor share its mapping.
  detail::Block block_of(const spa_data& data) {
    int fd = static_cast<int>(data.fd);
    std::uint64_t offset = data.mapoffset;
    if (data.type == SPA_DATA_MemPtr && data.data) {
      const pw_memblock* const block = pw_mempool_find_ptr(pw_core_get_mempool(connection_.core()), data.data);
      fd = block ? block->fd : -1;
      offset = detail::offset_of_address(data.data, doing());
    } else if (data.type != SPA_DATA_MemFd && data.type != SPA_DATA_DmaBuf) {
      throw Error(Code::kUnimplemented, doing() + ": a buffer of SPA's memory type " + std::to_string(data.type) +
                                            "; memfds and dma-bufs are taken");
    }
    struct stat status {};
    if (fd < 0 || ::fstat(fd, &status) != 0)
      throw Error(Code::kInvalidArgument, doing() + ": a buffer without a descriptor that is open");
    const std::size_t end = offset + data.maxsize;
    for (const Ref<Memory>& known : memories_)
      if (known->identity().high == status.st_dev && known->identity().low == status.st_ino &&
          known->size_bytes() >= end)
        return {known, offset, data.maxsize};
    const std::uint64_t modifier = format_ && format_->has_modifier ? format_->info.format.modifier : kModifierLinear;
    memories_.push_back(
        PipeWireMemory::import(context(), UniqueFd::duplicate(fd), end, modifier, true, options_.takes_unsealed));
    return {memories_.back(), offset, data.maxsize};
  }

  void on_remove(pw_buffer& buffer) {
    auto* const slot = static_cast<Slot*>(buffer.user_data);
    const std::lock_guard lock(connection_.mutex);
    can_dequeue_ = false;
    std::erase(slots_, slot);
    // If its picture is out the stream will not get it back: other links over this buffer must not wait for it.
    if (std::erase(arrived_, &buffer) != 0 || slot->owner) (void)release_busy(buffer);
    detach(slot);
    changed_with_lock();
  }
  /// A producer does not write to a buffer whose count of users is above 0; the stream adds one for each picture that comes. False: the
  /// producer knows no such count.
  static bool release_busy(const pw_buffer& buffer) {
    auto* const busy = detail::meta<spa_meta_busy>(*buffer.buffer, SPA_META_Busy);
    if (busy) __atomic_sub_fetch(&busy->count, 1, __ATOMIC_SEQ_CST);
    return busy != nullptr;
  }
  /// Gives a buffer back. pw_stream_queue_buffer() takes one off that count, too, but also queues the buffer for a notice that PipeWire
  /// takes out one a cycle and no producer reads; a picture that comes in a buffer which is still queued there is lost
  /// (seen with 0.3.65). @pre the mutex is held.
  void recycle(pw_buffer& buffer) {
    if (!release_busy(buffer)) pw_stream_queue_buffer(stream_, &buffer);
  }
  /// @pre the mutex is held.
  void detach(Slot* slot) {
    slot->buffer = nullptr;
    if (!slot->owner) dead_.push_back(slot);  // Else it goes with its picture.
  }

  /// Frees buffers of links that have gone, outside of callbacks and locks.
  void bury() noexcept {
    std::vector<Slot*> dead;
    std::vector<Ref<Memory>> unused;
    {
      const std::lock_guard lock(connection_.mutex);
      dead.swap(dead_);
      unused.swap(unused_);
    }
    for (Slot* slot : dead) delete slot;
  }

  /// What a producer says of one picture, read once: it may change at any time.
  struct Taken {
    Slot* slot = nullptr;
    bool is_damaged = false;
    Format format;
    std::array<spa_chunk, detail::kMaxBlocks> chunks{};
    std::int64_t pts = -1;
    std::uint64_t lost = 0;
    std::uint32_t transform = SPA_META_TRANSFORMATION_None;
    spa_region crop{};
  };

  /// The next buffer that the producer has filled; nothing if there is none. @pre the mutex is held.
  std::optional<Taken> take() {
    if (!arrived_.empty()) {
      pw_buffer* const buffer = arrived_.front();
      arrived_.erase(arrived_.begin());
      const spa_buffer& given = *buffer->buffer;
      Taken taken;
      taken.slot = static_cast<Slot*>(buffer->user_data);
      taken.is_damaged = taken.slot->count == 0 || !format_;
      for (std::size_t i = 0; i < taken.slot->count; ++i) {
        taken.chunks[i] = *given.datas[i].chunk;
        taken.is_damaged |= (taken.chunks[i].flags & SPA_CHUNK_FLAG_CORRUPTED) != 0;
      }
      if (const auto* const header = detail::meta<const spa_meta_header>(given, SPA_META_Header)) {
        taken.is_damaged |= (header->flags & SPA_META_HEADER_FLAG_CORRUPTED) != 0;
        taken.pts = header->pts;
        taken.lost = gap_before(header->seq);
      }
      if (const auto* const transform = detail::meta<const spa_meta_videotransform>(given, SPA_META_VideoTransform))
        taken.transform = transform->transform;
      if (const auto* const crop = detail::meta<const spa_meta_region>(given, SPA_META_VideoCrop))
        taken.crop = crop->region;
      if (format_) taken.format = *format_;
      taken.slot->owner = Ref<State>(this);
      ++held_;
      return taken;
    }
    return std::nullopt;
  }
  Frame frame_of(const Taken& taken, const Lease& lease) const {
    Frame frame = cropped(place(taken, lease), taken.crop);
    frame.set_timestamp_ns(taken.pts < 0 ? kNoTimestamp : taken.pts);
    if (taken.lost != 0) frame.metadata()["lost_frames"] = taken.lost;
    return frame;
  }

  Frame place(const Taken& taken, const Lease& lease) const {
    const Slot& slot = *taken.slot;
    FrameInfo info = taken.format.info;
    info.rotation = rotation_of(taken.transform);
    std::array<PlanePlace, 4> places;
    const std::size_t planes =
        detail::find_planes(info, std::span(slot.blocks).first(slot.count), taken.chunks, places, doing());
    return Frame(info, std::span(places).first(planes), lease);
  }

  static Frame cropped(Frame frame, const spa_region& region) {
    const FrameInfo& info = frame.info();
    const bool is_within = region.position.x >= 0 && region.position.y >= 0 && region.size.width != 0 &&
                           region.size.height != 0 && region.size.width <= info.width_px &&
                           region.size.height <= info.height_px &&
                           static_cast<std::uint32_t>(region.position.x) <= info.width_px - region.size.width &&
                           static_cast<std::uint32_t>(region.position.y) <= info.height_px - region.size.height;
    if (!is_within || (region.size.width == info.width_px && region.size.height == info.height_px)) return frame;
    return tenon::crop(frame, static_cast<std::uint32_t>(region.position.x),
                       static_cast<std::uint32_t>(region.position.y), region.size.width, region.size.height);
  }

  /// How many pictures are missing before that of this number.
  std::uint64_t gap_before(std::uint64_t number) {
    if (number == UINT64_MAX) return 0;  // GStreamer's "none".
    const bool is_gap = numbered_ && number > last_number_ + 1;
    const std::uint64_t gap = is_gap ? number - last_number_ - 1 : 0;
    numbered_ = true;
    last_number_ = number;
    return gap;
  }

  Error late() const {
    std::string why = ": no picture came in time";
    if (!format_) why += "; its producer is not linked";
    if (!slots_.empty() && held_ >= slots_.size())
      why += "; all " + std::to_string(slots_.size()) + " buffers are in use here: release pictures";
    return Error(Code::kDeadlineExceeded, doing() + why);
  }

  const InputOptions options_;
  mutable detail::Connection connection_;
  bool is_linked_here_ = false;
  pw_stream* stream_ = nullptr;
  spa_hook hook_{};
  std::vector<Ref<Memory>> memories_;  ///< Those of the present buffers. PipeWire's thread alone uses it.
  /// @name Guarded by the connection's mutex.
  std::uint32_t node_id_ = SPA_ID_INVALID;
  std::optional<Format> format_;
  Format last_format_;
  std::exception_ptr fault_;
  std::uint64_t events_ = 0, last_number_ = 0;
  bool can_dequeue_ = false, numbered_ = false;
  std::size_t held_ = 0;
  std::vector<pw_buffer*> arrived_;  ///< Not read yet.
  std::vector<Slot*> slots_;         ///< Those of the stream. Each belongs to it, or to the leases on it.
  std::vector<Slot*> dead_;          ///< Those of links that have gone, and free.
  std::vector<Ref<Memory>> unused_;
  InputReport report_;
};

TENON_INLINE void Input::Slot::finish() noexcept {
  const Ref<State> state = owner;
  state->give_back(this);
}

TENON_INLINE Input::Input(const std::string& node, InputOptions options, Deadline deadline)
    : state_(make_ref<State>(node, std::move(options), deadline)) {}
TENON_INLINE Input::Input(Input&&) noexcept = default;
TENON_INLINE Input& Input::operator=(Input&& other) noexcept {
  if (state_) state_->close();
  state_ = std::move(other.state_);
  return *this;
}
TENON_INLINE Input::~Input() {
  if (state_) state_->close();
}
TENON_INLINE Format Input::format() const { return state_->format(); }
TENON_INLINE std::optional<Frame> Input::read(Deadline deadline) { return state_->read(deadline); }
TENON_INLINE InputReport Input::report() const { return state_->report(); }

}  // namespace pipewire
}  // namespace v1
}  // namespace tenon
