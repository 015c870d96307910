// SPDX-License-Identifier: Apache-2.0
// Any bytes as what another process sends over a socket of ipc: packets of each kind with descriptors of each kind, or the metadata of a
// frame alone. The result is a message that can be read to its end, or a tenon::Error; afterwards no more descriptors are open than before.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/placement.hpp>
#include <tenon/core/zones.hpp>
#include <tenon/frameworks/ipc/ipc.hpp>

namespace tenon::ipc {
namespace {

/// The first byte of an input: what the rest is.
constexpr std::uint8_t kIsMetadata = 1;
/// The first byte of a packet: the header gets the right magic number and version.
constexpr std::uint8_t kHeaderIsTrue = 1;
/// The last kind of descriptor brings bytes of the input.
enum Kind : std::uint8_t { kSealed, kWritable, kEvent, kReached, kPipe, kFile, kWithBytes, kKinds };
constexpr std::size_t kMemoryBytes = 8192;

void expect(bool holds) {
  if (!holds) std::abort();
}

/// Splits an input; zeros follow its end.
class Input {
 public:
  explicit Input(std::span<const std::byte> bytes) : left_(bytes) {}
  bool is_empty() const { return left_.empty(); }
  std::span<const std::byte> take(std::size_t most) {
    const auto taken = left_.first(std::min(most, left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }
  template <typename Number>
  Number number() {
    Number value = 0;
    const auto taken = take(sizeof value);
    if (!taken.empty()) std::memcpy(&value, taken.data(), taken.size());
    return value;
  }

 private:
  std::span<const std::byte> left_;
};

UniqueFd memfd(std::span<const std::byte> bytes, int seals) {
  UniqueFd made(::memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  expect(::write(made.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  expect(::fcntl(made.get(), F_ADD_SEALS, seals) == 0);
  return made;
}

/// One descriptor of each kind, for the life of the process.
struct Descriptors {
  std::vector<UniqueFd> all;
  Descriptors() {
    const std::vector<std::byte> zeros(kMemoryBytes);
    int ends[2];
    expect(::pipe2(ends, O_CLOEXEC) == 0);
    all.push_back(memfd(zeros, F_SEAL_SHRINK));
    all.push_back(memfd(zeros, 0));
    all.emplace_back(::eventfd(0, EFD_CLOEXEC));
    all.emplace_back(::eventfd(1, EFD_CLOEXEC));
    all.emplace_back(ends[0]);
    all.emplace_back(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    all.emplace_back(ends[1]);  // Open as long as the other end.
  }
};

/// How many of the first numbers are open descriptors; a run needs some dozens.
int open_descriptors() {
  int open = 0;
  for (int fd = 0; fd < 256; ++fd) open += ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return open;
}

void touch(const Tensor& tensor) {
  if (tensor.size_bytes() == 0) return;
  const auto extent = checked_extent_bytes(tensor.info());
  expect(extent && tensor.offset() + *extent <= tensor.memory()->size_bytes());
  const auto* const bytes = static_cast<const volatile char*>(tensor.data());
  (void)bytes[0];
  (void)bytes[*extent - 1];
}

/// What was read can be written, and read again.
void write_again(const std::shared_ptr<metadata::Collection>& known) {
  static const Frame frame = Frame::allocate({kGray8, 8, 8});
  Frame carrier = frame;
  metadata::set(carrier, known);
  const FrameMetadata written(carrier);
  if (written.empty()) return;
  if (written.borrow_fd() >= 0) {
    detail::read_metadata(detail::bytes_of_memfd(written.borrow_fd(), written.size_bytes()), written.entry_count());
  } else {
    detail::read_metadata(written.part_of_message().subspan(sizeof(wire::Metadata)), written.entry_count());
  }
}

void try_metadata(Input input) {
  const auto count = input.number<std::uint32_t>();
  const auto left = input.take(SIZE_MAX);
  const std::vector<std::byte> bytes(left.begin(),
                                     left.end());  // By themselves, so that reading past their end is seen.
  std::shared_ptr<metadata::Collection> known;
  try {
    known = detail::read_metadata(bytes, count);
  } catch (const Error&) {
    return;
  }
  write_again(known);
}

void use(Link::Message& message) {
  if (const auto* const arrived = std::get_if<Arrived>(&message)) {
    if (const auto* const tensor = std::get_if<Tensor>(&arrived->what)) return touch(*tensor);
    for (const Tensor& plane : std::get<Frame>(arrived->what).planes()) touch(plane);
  }
}

/// What the end that is tested has sent is of the protocol.
void read_answers(Link& other) noexcept {
  while (const auto message = other.receive(Clock::now())) expect(std::holds_alternative<Returned>(*message));
}

void send(Link& other, Input& input) {
  static const Descriptors known;
  const auto flags = input.number<std::uint8_t>();
  std::vector<int> descriptors;
  std::vector<UniqueFd> made;
  for (std::size_t left = input.number<std::uint8_t>() % (wire::kMaxDescriptors + 2); left > 0; --left) {
    const auto kind = input.number<std::uint8_t>() % kKinds;
    if (kind == kWithBytes) {
      made.push_back(memfd(input.take(input.number<std::uint16_t>()), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE));
      descriptors.push_back(made.back().get());
    } else {
      descriptors.push_back(known.all[kind].get());
    }
  }
  const auto told = input.take(input.number<std::uint16_t>());
  std::vector<std::byte> bytes(told.begin(), told.end());
  if (flags & kHeaderIsTrue && bytes.size() >= sizeof(wire::Header)) {
    wire::Header header;
    std::memcpy(&header, bytes.data(), sizeof header);
    header.magic = wire::kMagic;
    header.version = 1 + header.version % 2;
    header.kind = header.kind % 6;
    std::memcpy(bytes.data(), &header, sizeof header);
  }
  if (descriptors.size() > wire::kMaxDescriptors) descriptors.resize(wire::kMaxDescriptors);
  (void)detail::put(other.borrow_fd(), bytes, descriptors);
}

void try_packets(Input input) {
  LinkLimits limits;
  limits.mapped_bytes = 16 * kMemoryBytes;
  auto ends = detail::socket_pair();
  Link other(std::move(ends.first)), link(std::move(ends.second), limits);
  std::vector<Link::Message> held;  // Some of what arrived stays in use.
  try {
    while (!input.is_empty()) {
      send(other, input);
      while (auto message = link.receive(Clock::now())) {
        use(*message);
        held.push_back(std::move(*message));
        if (held.size() > 3) held.erase(held.begin());
      }
      read_answers(other);
    }
  } catch (const Error&) {
  }
  held.clear();
  read_answers(other);
}

/// Builds an input, the inverse of Input.
class Seed {
 public:
  explicit Seed(std::uint8_t what) : bytes_{static_cast<char>(what)} {}
  template <typename Value>
  Seed& add(const Value& value) {
    return add(&value, sizeof value);
  }
  Seed& add(const void* from, std::size_t size) {
    bytes_.append(static_cast<const char*>(from), size);
    return *this;
  }
  template <typename Message>
  Seed& packet(const std::vector<std::uint8_t>& kinds, const Message& message, std::span<const std::byte> more = {}) {
    add(kHeaderIsTrue).add(static_cast<std::uint8_t>(kinds.size())).add(kinds.data(), kinds.size());
    add(static_cast<std::uint16_t>(sizeof message + more.size())).add(message);
    return add(more.data(), more.size());
  }
  void save(const std::string& file) const { std::ofstream(file, std::ios::binary) << bytes_; }

 private:
  std::string bytes_;
};

wire::Header header(wire::Kind kind, std::uint16_t version = wire::kFirstVersion) {
  return {wire::kMagic, version, static_cast<std::uint16_t>(kind), 1};
}

wire::Frame small_frame(std::uint16_t version) {
  wire::Frame message;
  message.header = header(wire::Kind::kFrame, version);
  message.brought.new_memories = 1;
  message.brought.memories[0] = {3, 0, kMemoryBytes, 0};
  message.fourcc = kNv12.fourcc;
  message.width_px = 64;
  message.height_px = 48;
  message.plane_count = 2;
  message.planes[0] = {3, 0, 0, 64};
  message.planes[1] = {3, 0, 64 * 48, 64};
  return message;
}

/// An entry of each type, one in another, with tensors, lists and texts.
FrameMetadata all_metadata() {
  Frame frame = Frame::allocate({kGray8, 8, 8});
  const auto known = std::make_shared<metadata::Collection>();
  metadata::Detection thing;
  thing.label = "thing";
  const metadata::Id id = known->add(thing);
  known->add(metadata::Classification{}, id);
  metadata::TensorOutput output;
  output.tensor = Tensor(ElementType::kF32, Shape{1, 4});
  std::memset(output.tensor.data(), 0, output.tensor.size_bytes());
  known->add(output, id);
  metadata::Segmentation mask;
  mask.mask = Tensor(ElementType::kU8, Shape{4, 4});
  std::memset(mask.mask.data(), 0, mask.mask.size_bytes());
  known->add(mask, id);
  metadata::Zone zone;
  zone.points.resize(3);
  zone.counts.resize(1);
  known->add(zone);
  known->add(metadata::ZoneEvent{}, id);
  known->add(metadata::AudioEvent{});
  known->add(metadata::Json{});
  known->add(metadata::ReferenceTime{});
  known->add(metadata::Source{});
  known->add(metadata::NotLookedAt{});
  known->add(metadata::Record{});
  known->add(metadata::Placement{});
  metadata::set(frame, known);
  return FrameMetadata(frame);
}

void write_seeds(const std::string& folder) {
  std::filesystem::create_directories(folder);
  const FrameMetadata known = all_metadata();
  const auto told_and_entries = known.part_of_message();
  expect(known.borrow_fd() < 0);
  const auto entries = told_and_entries.subspan(sizeof(wire::Metadata));
  Seed(kIsMetadata).add(known.entry_count()).add(entries.data(), entries.size()).save(folder + "/metadata");

  wire::Frame fenced = small_frame(wire::kFirstVersion);
  fenced.brought.fences = 2;
  fenced.brought.fence_kinds[0] = fenced.brought.fence_kinds[1] = static_cast<std::uint8_t>(wire::FenceKind::kEventFd);
  wire::Tensor tensor;
  tensor.header = header(wire::Kind::kTensor);
  tensor.brought.new_memories = 1;
  tensor.brought.memories[0] = {0, 0, kMemoryBytes, 0};
  std::memcpy(tensor.element_type.data(), "f32", 3);
  tensor.rank = 2;
  tensor.shape = {16, 16};
  wire::Hello hello;
  hello.header = header(wire::Kind::kHello);
  Seed(0)
      .packet({}, hello)
      .packet({kSealed}, small_frame(wire::kFirstVersion))
      .packet({kSealed, kEvent, kReached}, fenced)
      .packet({kSealed}, tensor)
      .packet({kEvent}, wire::Release{header(wire::Kind::kRelease), 1, 0})
      .packet({}, wire::End{header(wire::Kind::kEnd)})
      .save(folder + "/each_kind");
  Seed(0)
      .packet({kSealed}, small_frame(wire::kMetadataVersion), told_and_entries)
      .save(folder + "/frame_with_metadata");
  wire::Metadata apart;
  std::memcpy(&apart, told_and_entries.data(), sizeof apart);
  apart.is_apart = 1;
  Seed(0)
      .add(kHeaderIsTrue)
      .add(std::uint8_t{2})
      .add(std::uint8_t{kSealed})
      .add(std::uint8_t{kWithBytes})
      .add(static_cast<std::uint16_t>(entries.size()))
      .add(entries.data(), entries.size())
      .add(static_cast<std::uint16_t>(sizeof(wire::Frame) + sizeof apart))
      .add(small_frame(wire::kMetadataVersion))
      .add(apart)
      .save(folder + "/metadata_apart");
}

}  // namespace
}  // namespace tenon::ipc

/// With TENON_FUZZ_SEEDS=FOLDER it writes seeds to that folder and exits: messages as this build makes them.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* folder = std::getenv("TENON_FUZZ_SEEDS")) {
    tenon::ipc::write_seeds(folder);
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenon::ipc;  // NOLINT: it is all about this.
  Input input(std::as_bytes(std::span(data, size)));
  if (input.number<std::uint8_t>() & kIsMetadata) {
    try_metadata(input);
    return 0;
  }
  const Input same = input;
  const int before = open_descriptors();
  try_packets(input);
  const int after = open_descriptors();
  if (after == before) return 0;
  Input again = same;
  try_packets(again);  // What is made once for the process stays open; a leak comes again.
  expect(open_descriptors() == after);
  return 0;
}
