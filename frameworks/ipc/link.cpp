// SPDX-License-Identifier: Apache-2.0
// Frames and tensors as messages, memories that are handed over once, and leases that give back what arrived.
#include <tenon/frameworks/ipc/link.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/frameworks/cpu/eventfd.hpp>
#include <tenon/frameworks/cpu/posix/poll.hpp>
#include <tenon/frameworks/dmabuf/sync.hpp>

namespace tenon {
inline namespace v1 {
namespace ipc {
namespace detail {

template <typename Message>
std::span<const std::byte> bytes_of(const Message& message) {
  static_assert(std::is_trivially_copyable_v<Message>);
  return std::as_bytes(std::span(&message, 1));
}

/// @param at  Where it begins.  @param more  Bytes that follow it.
template <typename Message>
Message message_of(const Packet& packet, std::size_t at = 0, std::size_t more = 0) {
  if (packet.size != at + sizeof(Message) + more)
    throw Error(Code::kDataLoss, "ipc: a message of " + std::to_string(packet.size) + " bytes, expected " +
                                     std::to_string(at + sizeof(Message) + more));
  Message message;
  std::memcpy(&message, packet.bytes.data() + at, sizeof message);
  return message;
}

/// What follows a Frame of version 2, and where its bytes are.
struct MetadataOfPacket {
  wire::Metadata told;
  std::size_t inline_bytes = 0;

  explicit MetadataOfPacket(const Packet& packet) {
    constexpr std::size_t kBegin = sizeof(wire::Frame) + sizeof told;
    if (packet.size < kBegin)
      throw Error(Code::kDataLoss, "ipc: a frame with metadata is a message of " + std::to_string(packet.size) +
                                       " bytes, expected at least " + std::to_string(kBegin));
    inline_bytes = packet.size - kBegin;
    told = message_of<wire::Metadata>(packet, sizeof(wire::Frame), inline_bytes);
    if (told.is_apart > 1 || told.size_bytes > wire::kMaxMetadataBytes)
      throw Error(Code::kOutOfRange, "ipc: a frame's metadata say that their size_bytes is " +
                                         std::to_string(told.size_bytes) + ", at most " +
                                         std::to_string(wire::kMaxMetadataBytes) + ", and is_apart " +
                                         std::to_string(told.is_apart) + ", at most 1");
    if (inline_bytes != (told.is_apart ? 0 : told.size_bytes))
      throw Error(Code::kDataLoss, "ipc: a frame's metadata say that their size_bytes is " +
                                       std::to_string(told.size_bytes) + ", and " + std::to_string(inline_bytes) +
                                       " bytes are in the message");
  }
  std::size_t descriptors() const { return told.is_apart; }
  std::size_t size() const { return sizeof told + inline_bytes; }
  std::shared_ptr<metadata::Collection> read(const Packet& packet) const {
    if (!told.is_apart)
      return read_metadata(std::span(packet.bytes).subspan(sizeof(wire::Frame) + sizeof told, inline_bytes),
                           told.entries);
    return read_metadata(bytes_of_memfd(packet.descriptors[packet.descriptor_count - 1].get(), told.size_bytes),
                         told.entries);
  }
};

inline wire::Header header_of(wire::Kind kind, std::uint64_t sequence = 0) {
  wire::Header header;
  header.kind = static_cast<std::uint16_t>(kind);
  header.sequence = sequence;
  return header;
}

/// A value of an enumeration that came as a number. @errors kInvalidArgument: past the last one.
template <typename Enum>
Enum checked(std::uint8_t value, Enum last, const char* what) {
  if (value <= static_cast<std::uint8_t>(last)) return static_cast<Enum>(value);
  throw Error(Code::kInvalidArgument,
              std::string("ipc: a frame came with the unknown ") + what + " " + std::to_string(value));
}

struct Fence {
  UniqueFd fd;
  wire::FenceKind kind = wire::FenceKind::kEventFd;
};

/// A point as a descriptor for another process. @errors kResourceExhausted
TENON_INLINE Fence fence_of(const TimelinePoint& point) {
  if (const auto* file = dynamic_cast<const dmabuf::SyncFileTimeline*>(point.timeline().get()))
    return {file->export_fd(), wire::FenceKind::kSyncFile};
  return {cpu::eventfd_of(point), wire::FenceKind::kEventFd};
}

/// The unfinished work on the memories of `tensors`, as descriptors.
struct Fences {
  std::array<Fence, wire::kMaxFences> all;
  std::size_t count = 0;

  /// @errors kInvalidArgument: more than kMaxFences; the failure of a writer.
  void add(const Memory& memory, Access access) {
    for (const TimelinePoint& point : memory.pending(access)) {
      if (point.state() == PointState::kReached) continue;
      if (point.state() == PointState::kFailed) point.wait();
      if (count == all.size())
        throw Error(Code::kInvalidArgument,
                    "ipc: more than " + std::to_string(all.size()) +
                        " pieces of work are unfinished on one frame; wait for some of them first");
      all[count++] = fence_of(point);
    }
  }

  /// Adds all work that still runs, without an error for work that failed: that has ended.
  /// @return false: a piece of it cannot be handed on, since there are too many, or no descriptor is left.
  bool add_running(const Memory& memory) noexcept try {
    for (const TimelinePoint& point : memory.pending(Access::kReadWrite)) {
      if (point.state() != PointState::kPending) continue;
      if (count == all.size()) return false;
      all[count++] = fence_of(point);
    }
    return true;
  } catch (const std::exception&) {
    return false;
  }
};

/// What a descriptor refers to, by /proc: looking at it never waits, as calls about a file of a user's file system (FUSE) may.
struct Target {
  char text[32] = {};
  explicit Target(int fd) {
    char path[32];
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (::readlink(path, text, sizeof text - 1) < 0) text[0] = 0;
  }
  bool begins_with(std::string_view start) const { return std::string_view(text).starts_with(start); }
};

/// @errors kInvalidArgument: neither an eventfd nor a sync file.
TENON_INLINE void check_fence(int fd) {
  if (!Target(fd).begins_with("anon_inode:"))
    throw Error(Code::kInvalidArgument, "ipc: a fence came that is neither an eventfd nor a sync file");
}

/// @errors kInvalidArgument: neither a memfd nor a dma-buf.
TENON_INLINE void check_memory(int fd) {
  if (::fcntl(fd, F_GET_SEALS) >= 0) return;
  if (const Target target(fd); target.begins_with("/dmabuf:") || target.begins_with("anon_inode:dmabuf")) return;
  throw Error(Code::kInvalidArgument, "ipc: memory came that is neither a memfd nor a dma-buf");
}

TENON_INLINE TimelinePoint point_of(UniqueFd fd, std::uint8_t kind) {
  check_fence(fd.get());
  if (kind == static_cast<std::uint8_t>(wire::FenceKind::kEventFd)) return cpu::point_of_eventfd(std::move(fd));
  if (kind == static_cast<std::uint8_t>(wire::FenceKind::kSyncFile)) return dmabuf::import_sync_file(std::move(fd));
  throw Error(Code::kInvalidArgument, "ipc: a fence came with the unknown kind " + std::to_string(kind));
}

}  // namespace detail

/// The socket, which outlives the link as long as what arrived over it is held.
class Link::Channel final : public RefCounted {
 public:
  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}
  int fd() const { return socket_.get(); }
  /// The newest version that the other end reads.
  std::atomic<std::uint16_t> reads{wire::kFirstVersion};

  /// Gives `sequence` back. If the other end does not read for a tenth of a second, it takes the frame back by its deadline.
  void give_back(std::uint64_t sequence, const detail::Fences& fences) noexcept {
    wire::Release message{detail::header_of(wire::Kind::kRelease, sequence), static_cast<std::uint32_t>(fences.count),
                          0};
    std::array<int, wire::kMaxFences> descriptors{};
    for (std::size_t i = 0; i < fences.count; ++i) descriptors[i] = fences.all[i].fd.get();
    try {
      const Deadline deadline = Clock::now() + std::chrono::milliseconds(100);
      while (detail::put(fd(), detail::bytes_of(message), std::span(descriptors).first(fences.count)) ==
             detail::Put::kFull) {
        if (!cpu::poll_until(deadline, fd(), POLLOUT)) return;
      }
    } catch (const Error&) {
      // The connection is broken, and the other end knows that as well.
    }
  }

  /// A use of something that arrived. From a free list, so that the steady state allocates nothing.
  class ArrivedLease final : public LeaseState {
   public:
    static Ref<ArrivedLease> take(Ref<Channel> channel, std::uint64_t sequence) {
      Ref<ArrivedLease> lease(FreeList<ArrivedLease>::instance().take());
      lease->channel_ = std::move(channel);
      lease->sequence_ = sequence;
      return lease;
    }
    void keep(const Ref<Memory>& memory) {
      if (std::find(memories_.begin(), memories_.begin() + count_, memory) == memories_.begin() + count_)
        memories_[static_cast<std::size_t>(count_++)] = memory;
    }

   protected:
    void dispose() noexcept override {
      detail::Fences fences;
      bool is_whole = true;
      for (int i = 0; i < count_; ++i) {
        Ref<Memory>& memory = memories_[static_cast<std::size_t>(i)];
        is_whole = is_whole && fences.add_running(*memory);
        memory = {};
      }
      count_ = 0;
      // Given back without a fence of its own, work would run on bytes that are written anew. The other end has its deadline.
      if (is_whole) channel_->give_back(sequence_, fences);
      channel_ = {};
      FreeList<ArrivedLease>::instance().give_back(this);
    }

   private:
    friend class FreeList<ArrivedLease>;
    Ref<Channel> channel_;
    std::uint64_t sequence_ = 0;
    std::array<Ref<Memory>, 4> memories_;
    int count_ = 0;
    ArrivedLease* next_ = nullptr;
  };

 private:
  UniqueFd socket_;
};

/// One frame or tensor on its way out: the numbers of its memories, and the descriptors that go along.
class Link::Sending {
 public:
  explicit Sending(Link& link) : link_(link) {}
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;
  ~Sending() {
    if (!is_sent_) forget();
  }

  /// The number of the memory that `tensor` lies in at the other end.
  std::uint32_t number_of(const tenon::v1::Tensor& tensor, wire::Brought& brought) {
    const Memory& memory = *tensor.memory();
    const int fd = ipc::fd(tensor);
    for (std::size_t i = 0; i < memory_count_; ++i)
      if (memories_[i] == &memory) return numbers_[i];
    if (memory_count_ == memories_.size())
      throw Error(Code::kInvalidArgument, "ipc: a frame in more than 4 memories cannot be sent");
    const MemoryIdentity identity = identity_of(memory, fd);
    const auto found = std::find_if(link_.known_.begin(), link_.known_.end(),
                                    [&](const Known& known) { return known.used != 0 && known.identity == identity; });
    Known* known = found != link_.known_.end() ? &*found : nullptr;
    if (!known) {
      known = &*std::min_element(link_.known_.begin(), link_.known_.end(),
                                 [](const Known& a, const Known& b) { return a.used < b.used; });
      overwritten_[new_count_] = {known, *known};
      *known = {identity, 0};
      brought.memories[new_count_] = {static_cast<std::uint32_t>(known - link_.known_.data()), 0, memory.size_bytes(),
                                      memory.modifier()};
      brought.new_memories = static_cast<std::uint8_t>(++new_count_);
      descriptors_[new_count_ - 1] = fd;
    }
    known->used = ++link_.uses_;
    memories_[memory_count_] = &memory;
    numbers_[memory_count_] = static_cast<std::uint32_t>(known - link_.known_.data());
    return numbers_[memory_count_++];
  }

  template <typename Message>
  bool send(Message& message, std::span<const std::byte> more = {}, int last_fd = -1) {
    for (std::size_t i = 0; i < memory_count_; ++i) fences_.add(*memories_[i], Access::kRead);
    std::size_t count = new_count_;
    for (std::size_t i = 0; i < fences_.count; ++i) {
      message.brought.fence_kinds[i] = static_cast<std::uint8_t>(fences_.all[i].kind);
      descriptors_[count++] = fences_.all[i].fd.get();
    }
    message.brought.fences = static_cast<std::uint8_t>(fences_.count);
    if (last_fd >= 0) descriptors_[count++] = last_fd;
    const detail::Put put =
        detail::put(link_.channel_->fd(), detail::bytes_of(message), std::span(descriptors_).first(count), more);
    if (put == detail::Put::kClosed) throw Error(Code::kUnavailable, "ipc: the other end has closed the connection");
    return is_sent_ = put == detail::Put::kSent;
  }

 private:
  /// Memories without an identity of their own (foreign pointers have no descriptor) are known by the kernel's inode.
  static MemoryIdentity identity_of(const Memory& memory, int fd) {
    if (memory.identity().kind == MemoryIdentity::Kind::kInode) return memory.identity();
    struct stat status {};
    if (::fstat(fd, &status) != 0)
      throw Error(Code::kInternal, "ipc: descriptor " + std::to_string(fd) + " cannot be looked at", "fstat", errno);
    return {MemoryIdentity::Kind::kInode, static_cast<std::uint64_t>(status.st_dev),
            static_cast<std::uint64_t>(status.st_ino)};
  }
  /// Nothing was sent, so the other end does not know the new memories.
  void forget() noexcept {
    for (std::size_t i = 0; i < new_count_; ++i) *overwritten_[i].first = overwritten_[i].second;
  }

  Link& link_;
  std::array<const Memory*, 4> memories_{};
  std::array<std::uint32_t, 4> numbers_{};
  std::size_t memory_count_ = 0, new_count_ = 0;
  bool is_sent_ = false;
  std::array<std::pair<Known*, Known>, 4> overwritten_{};
  std::array<int, wire::kMaxDescriptors> descriptors_{};
  detail::Fences fences_;
};

TENON_INLINE Link::Link(UniqueFd socket, LinkLimits limits)
    : channel_(make_ref<Channel>(std::move(socket))), limits_(limits) {}
TENON_INLINE Link::Link(Link&&) noexcept = default;
TENON_INLINE Link& Link::operator=(Link&&) noexcept = default;
TENON_INLINE Link::~Link() = default;

TENON_INLINE std::pair<Link, Link> Link::pair() {
  auto sockets = detail::socket_pair();
  std::pair<Link, Link> ends{Link(std::move(sockets.first)), Link(std::move(sockets.second))};
  ends.first.channel_->reads = ends.second.channel_->reads = wire::kVersion;  // One program.
  return ends;
}

TENON_INLINE Peer Link::peer() const { return detail::peer_of(channel_->fd()); }
TENON_INLINE int Link::borrow_fd() const { return channel_->fd(); }
TENON_INLINE void Link::close() noexcept { (void)::shutdown(channel_->fd(), SHUT_RDWR); }

TENON_INLINE void Link::forget_arrived() noexcept {
  for (Ref<Memory>& memory : mapped_) memory = {};
  mapped_bytes_ = 0;
}

TENON_INLINE bool Link::send_hello(const Stream& stream) {
  wire::Hello message;
  message.header = detail::header_of(wire::Kind::kHello, wire::kVersion);
  message.modifier = stream.info.format.modifier;
  message.fourcc = stream.info.format.fourcc;
  message.width_px = stream.info.width_px;
  message.height_px = stream.info.height_px;
  message.is_live = stream.is_live;
  message.frames_per_second = stream.frames_per_second;
  return detail::put(channel_->fd(), detail::bytes_of(message), {}) == detail::Put::kSent;
}

TENON_INLINE bool Link::send_end() {
  const wire::End message{detail::header_of(wire::Kind::kEnd)};
  return detail::put(channel_->fd(), detail::bytes_of(message), {}) == detail::Put::kSent;
}

TENON_INLINE bool Link::sends_metadata() const { return channel_->reads >= wire::kMetadataVersion; }

TENON_INLINE bool Link::send(const Frame& frame, std::uint64_t sequence, const FrameMetadata& known) {
  if (frame.plane_count() == 0)
    throw Error(Code::kInvalidArgument,
                "ipc: an empty frame or a batch cannot be sent; send the frames of a batch one by one");
  wire::Frame message;
  message.header = detail::header_of(wire::Kind::kFrame, sequence);
  const FrameInfo& info = frame.info();
  if (!(info == last_info_))
    known_ = {};  // The other end need not keep the memory of another size until its numbers run out.
  last_info_ = info;
  message.fourcc = info.format.fourcc;
  message.modifier = info.format.modifier;
  message.width_px = info.width_px;
  message.height_px = info.height_px;
  message.colour_space = static_cast<std::uint8_t>(info.colour_space);
  message.colour_range = static_cast<std::uint8_t>(info.colour_range);
  message.rotation = static_cast<std::uint8_t>(info.rotation);
  message.timestamp_ns = frame.timestamp_ns();
  message.plane_count = static_cast<std::uint8_t>(frame.plane_count());
  Sending sending(*this);
  for (std::size_t p = 0; p < frame.plane_count(); ++p) {
    const tenon::v1::Tensor& plane = frame.plane(p);
    message.planes[p] = {sending.number_of(plane, message.brought), 0, plane.offset(),
                         static_cast<std::uint64_t>(plane.byte_strides()[0])};
  }
  if (known.empty() || !sends_metadata()) return sending.send(message);
  message.header.version = wire::kMetadataVersion;
  return sending.send(message, known.part_of_message(), known.borrow_fd());
}

TENON_INLINE bool Link::send(const tenon::v1::Tensor& tensor, std::uint64_t sequence) {
  const std::string_view type = name(tensor.element_type());
  if (!tensor || tensor.shape().size() > wire::kMaxRank || tensor.element_type() == ElementType::kString)
    throw Error(Code::kInvalidArgument, "ipc: " + (tensor ? to_string(tensor) : std::string("an empty tensor")) +
                                            " cannot be sent: at most " + std::to_string(wire::kMaxRank) +
                                            " axes, and no strings");
  wire::Tensor message;
  message.header = detail::header_of(wire::Kind::kTensor, sequence);
  type.copy(message.element_type.data(), message.element_type.size() - 1);
  message.rank = static_cast<std::uint16_t>(tensor.shape().size());
  std::copy(tensor.shape().begin(), tensor.shape().end(), message.shape.begin());
  message.has_strides = !tensor.byte_strides().empty();
  std::copy(tensor.byte_strides().begin(), tensor.byte_strides().end(), message.byte_strides.begin());
  message.offset = tensor.offset();
  Sending sending(*this);
  message.memory = sending.number_of(tensor, message.brought);
  return sending.send(message);
}

TENON_INLINE std::optional<Link::Message> Link::receive(Deadline deadline) {
  for (;;) {
    switch (detail::take(channel_->fd(), packet_)) {
      case detail::Got::kPacket: {
        // Whatever read() leaves of the descriptors is closed at once.
        const struct Closing {
          detail::Packet& packet;
          ~Closing() {
            for (std::size_t i = 0; i < packet.descriptor_count; ++i) packet.descriptors[i].reset();
          }
        } closing{packet_};
        return read(packet_);
      }
      case detail::Got::kClosed:
        throw Error(Code::kUnavailable, "ipc: the other end has closed the connection, or its process has ended");
      case detail::Got::kNothing:
        break;
    }
    if (!cpu::poll_until(deadline, channel_->fd(), POLLIN)) return std::nullopt;
  }
}

TENON_INLINE Link::Message Link::read(detail::Packet& packet) {
  wire::Header header;
  if (packet.size < sizeof header)
    throw Error(Code::kDataLoss,
                "ipc: a message of " + std::to_string(packet.size) + " bytes is none of this protocol");
  std::memcpy(&header, packet.bytes.data(), sizeof header);
  if (header.magic != wire::kMagic) throw Error(Code::kDataLoss, "ipc: a message is none of this protocol");
  const bool is_frame = header.kind == static_cast<std::uint16_t>(wire::Kind::kFrame);
  if (header.version != wire::kFirstVersion && !(is_frame && header.version == wire::kMetadataVersion))
    throw Error(Code::kUnimplemented, "ipc: the other end sends a message of version " +
                                          std::to_string(header.version) + " of the protocol, expected " +
                                          std::to_string(wire::kFirstVersion) + " to " +
                                          std::to_string(wire::kVersion) + "; use the same release in both processes");
  switch (static_cast<wire::Kind>(header.kind)) {
    case wire::Kind::kHello: {
      const auto hello = detail::message_of<wire::Hello>(packet);
      channel_->reads =
          static_cast<std::uint16_t>(std::clamp<std::uint64_t>(header.sequence, wire::kFirstVersion, wire::kVersion));
      Stream stream;
      stream.info.format = {hello.fourcc, hello.modifier};
      stream.info.width_px = hello.width_px;
      stream.info.height_px = hello.height_px;
      stream.is_live = hello.is_live != 0;
      stream.frames_per_second =
          hello.frames_per_second > 0 && hello.frames_per_second < 1e6 ? hello.frames_per_second : 0;
      return stream;
    }
    case wire::Kind::kFrame:
      return read_frame(packet);
    case wire::Kind::kTensor:
      return read_tensor(packet);
    case wire::Kind::kRelease: {
      const auto release = detail::message_of<wire::Release>(packet);
      if (release.fences != packet.descriptor_count)
        throw Error(Code::kInvalidArgument, "ipc: a message says that it has " + std::to_string(release.fences) +
                                                " fences, and has " + std::to_string(packet.descriptor_count));
      Returned returned{header.sequence, {}};
      for (std::size_t i = 0; i < packet.descriptor_count; ++i) {
        detail::check_fence(packet.descriptors[i].get());
        returned.fences.push_back(std::move(packet.descriptors[i]));
      }
      return returned;
    }
    case wire::Kind::kEnd:
      return Ended{};
  }
  throw Error(Code::kUnimplemented, "ipc: a message of the unknown kind " + std::to_string(header.kind));
}

TENON_INLINE void Link::take_memories(detail::Packet& packet, const wire::Brought& brought,
                                      std::size_t other_descriptors) {
  if (brought.new_memories > brought.memories.size() || brought.fences > wire::kMaxFences ||
      packet.descriptor_count != std::size_t{brought.new_memories} + brought.fences + other_descriptors)
    throw Error(Code::kInvalidArgument, "ipc: a message says that it has " + std::to_string(brought.new_memories) +
                                            " memories, " + std::to_string(brought.fences) + " fences and " +
                                            std::to_string(other_descriptors) + " metadata, and has " +
                                            std::to_string(packet.descriptor_count) + " descriptors");
  for (std::size_t i = 0; i < brought.new_memories; ++i) {
    const wire::NewMemory& told = brought.memories[i];
    if (told.number >= wire::kMaxMemories)
      throw Error(Code::kOutOfRange, "ipc: a memory has the number " + std::to_string(told.number) +
                                         ", expected below " + std::to_string(wire::kMaxMemories));
    Ref<Memory>& place = mapped_[told.number];
    if (place) mapped_bytes_ -= place->size_bytes();
    place = {};
    detail::check_memory(packet.descriptors[i].get());
    // What the descriptor holds counts, not what the other end says: all of it is mapped.
    struct stat status {};
    const bool is_known = ::fstat(packet.descriptors[i].get(), &status) == 0;
    const std::uint64_t bytes =
        std::max(told.size_bytes, is_known ? static_cast<std::uint64_t>(status.st_size) : std::uint64_t{0});
    if (bytes > limits_.mapped_bytes || mapped_bytes_ > limits_.mapped_bytes - bytes)
      throw Error(Code::kResourceExhausted, "ipc: the other end shares " + std::to_string(mapped_bytes_) +
                                                " bytes and " + std::to_string(bytes) + " more, the limit is " +
                                                std::to_string(limits_.mapped_bytes) + " (LinkLimits::mapped_bytes)");
    place = IpcMemory::import(ipc::context(), std::move(packet.descriptors[i]), told.size_bytes, told.modifier);
    mapped_bytes_ += place->size_bytes();
  }
}

TENON_INLINE const Ref<Memory>& Link::memory_of(std::uint32_t number) const {
  if (number < mapped_.size() && mapped_[number]) return mapped_[number];
  throw Error(Code::kOutOfRange, "ipc: a message names memory " + std::to_string(number) + ", which did not come");
}

namespace detail {

/// Notes the fences that came beside `memories` new ones as writes of each of `all`.
TENON_INLINE void note_fences(Packet& packet, const wire::Brought& brought, std::span<const Ref<Memory>> all) {
  for (std::size_t i = 0; i < brought.fences; ++i) {
    const TimelinePoint point =
        point_of(std::move(packet.descriptors[brought.new_memories + i]), brought.fence_kinds[i]);
    for (const Ref<Memory>& memory : all) memory->hazards().wrote(point, WrittenBytes{0, SIZE_MAX, false});
  }
}

}  // namespace detail

TENON_INLINE Arrived Link::read_frame(detail::Packet& packet) {
  wire::Header header;
  std::memcpy(&header, packet.bytes.data(), sizeof header);
  std::optional<detail::MetadataOfPacket> extra;
  if (header.version == wire::kMetadataVersion) extra.emplace(packet);
  const auto message = detail::message_of<wire::Frame>(packet, 0, extra ? extra->size() : 0);
  take_memories(packet, message.brought, extra ? extra->descriptors() : 0);
  FrameInfo info;
  info.format = {message.fourcc, message.modifier};
  info.width_px = message.width_px;
  info.height_px = message.height_px;
  info.colour_space = detail::checked(message.colour_space, ColourSpace::kSmpte240m, "colour space");
  info.colour_range = detail::checked(message.colour_range, ColourRange::kFull, "range of colours");
  info.rotation = detail::checked(message.rotation, Rotation::kMirrored270, "rotation");
  if (message.plane_count == 0 || message.plane_count > message.planes.size())
    throw Error(Code::kInvalidArgument, "ipc: a frame came with " + std::to_string(message.plane_count) + " planes");
  std::array<PlanePlace, 4> places;
  std::array<Ref<Memory>, 4> memories;
  for (std::size_t p = 0; p < message.plane_count; ++p) {
    memories[p] = memory_of(message.planes[p].memory);
    places[p] = {memories[p], message.planes[p].offset, message.planes[p].pitch_bytes};
  }
  // Checks that every plane lies in its memory. Only what is whole gets a lease, so nothing else is given back.
  Frame checked(info, std::span(places).first(message.plane_count), {}, message.timestamp_ns);
  const std::shared_ptr<metadata::Collection> known = extra ? extra->read(packet) : nullptr;
  detail::note_fences(packet, message.brought, std::span(memories).first(message.plane_count));
  const Ref<Channel::ArrivedLease> lease = Channel::ArrivedLease::take(channel_, message.header.sequence);
  for (std::size_t p = 0; p < message.plane_count; ++p) {
    lease->keep(memories[p]);
    places[p] = {memories[p], message.planes[p].offset, message.planes[p].pitch_bytes};
  }
  Frame frame(info, std::span(places).first(message.plane_count), Lease(lease), message.timestamp_ns);
  if (known) metadata::set(frame, known);
  return {message.header.sequence, std::move(frame)};
}

TENON_INLINE Arrived Link::read_tensor(detail::Packet& packet) {
  const auto message = detail::message_of<wire::Tensor>(packet);
  take_memories(packet, message.brought);
  const std::string_view type_name(message.element_type.data(),
                                   ::strnlen(message.element_type.data(), message.element_type.size()));
  TensorInfo info;
  for (const ElementTypeInfo& known : kElementTypes)
    if (known.name == type_name && known.bits != 0 && known.type != ElementType::kString) info.type = known.type;
  if (info.type == ElementType::kUndefined || message.rank > wire::kMaxRank)
    throw Error(Code::kInvalidArgument, "ipc: a tensor came with the unknown type \"" + std::string(type_name) +
                                            "\" or with " + std::to_string(message.rank) + " axes");
  info.shape.assign(message.shape.begin(), message.shape.begin() + message.rank);
  if (message.has_strides && size_bytes(info.type) != 0)
    info.strides.assign(message.byte_strides.begin(), message.byte_strides.begin() + message.rank);
  if (!checked_size_bytes(info.type, info.shape) || !checked_extent_bytes(info))
    throw Error(Code::kOutOfRange, "ipc: a tensor came with the impossible shape " + to_string(info.shape) +
                                       " and strides " + to_string(info.strides));
  const Ref<Memory>& memory = memory_of(message.memory);
  (void)tenon::v1::Tensor(info, memory, message.offset);  // Checks that it lies in its memory.
  detail::note_fences(packet, message.brought, std::span(&memory, 1));
  const Ref<Channel::ArrivedLease> lease = Channel::ArrivedLease::take(channel_, message.header.sequence);
  lease->keep(memory);
  return {message.header.sequence, tenon::v1::Tensor(info, memory, message.offset, Lease(lease))};
}

}  // namespace ipc
}  // namespace v1
}  // namespace tenon
