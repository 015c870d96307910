// SPDX-License-Identifier: Apache-2.0
// Metadata between processes: what arrives, releases that do not read it, and bytes that are damaged or lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/placement.hpp>
#include <tenon/core/zones.hpp>
#include <tenon/frameworks/ipc/testing/ends.hpp>
#include <tenon/frameworks/ipc/testing/peer.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::ipc {
namespace metadata_test {

using namespace ends;
using namespace metadata;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// A type of a user's own.
struct Weather {
  static constexpr Kind kKind{"test.weather"};
  double degrees = 0;
};

Tensor counted(ElementType type, const Shape& shape) {
  const Tensor made(type, shape);
  auto* const bytes = static_cast<unsigned char*>(made.data());
  for (std::size_t i = 0; i < made.size_bytes(); ++i) bytes[i] = static_cast<unsigned char>(i);
  return made;
}

/// One entry of each type, two of them beneath the object.
void add_all(Collection& known) {
  const Id car = known.add(Detection{{1, 2, 3.5f, 4}, "car", 7, 0.5f, std::int64_t{1} << 40});
  known.add(Source{"rtsp://camera", 3, 77});
  known.add(Classification{"red", 1, 0.9f, "colours"}, car);
  known.add(TensorOutput{counted(ElementType::kF32, {2, 3}), "out", "model", "keypoints"}, car);
  known.add(Segmentation{{0, 0, 8, 6}, counted(ElementType::kU8, {3, 4}), {"sky", "road"}});
  known.add(AudioEvent{"bark", 2, 0.25f, -1, 5});
  known.add(Json{"{\"a\":[1]}"});
  known.add(ReferenceTime{"ntp", 1'700'000'000'000'000'000, 40});
  known.add(NotLookedAt{"model"});
  known.add(Record{"GstProtectionMeta", "a, b=(int)1"});
  Zone zone{"door", Zone::Shape::kLine, {{1, 2}, {3, 4}}, {}, true};
  zone.counts.push_back({"person", 1, 2, 3});
  known.add(zone);
  known.add(ZoneEvent{"door", ZoneEvent::What::kCrossedIn, 1.5, 9});
  known.add(Placement{{1, 2, 3, 4, 5, 6}, 640, 480});
}

/// Throws where it is not what add_all() adds.
void expect_all(const Frame& frame) {
  const auto known = find(frame);
  if (!known) throw std::runtime_error("no metadata came");
  Collection expected;
  add_all(expected);
  if (known->json() != expected.json()) throw std::runtime_error("other metadata: " + known->json());
  const auto is_equal = [](const auto& one, const auto& other) { return one && other && *one == *other; };
  if (!is_equal(known->first<NotLookedAt>(), expected.first<NotLookedAt>()) ||
      !is_equal(known->first<Placement>(), expected.first<Placement>()) ||
      !is_equal(known->first<Zone>(), expected.first<Zone>()) ||
      !is_equal(known->first<ZoneEvent>(), expected.first<ZoneEvent>()))
    throw std::runtime_error("another value of a type whose JSON does not say all");
  const auto is_same = [](const Tensor& one, const Tensor& other) {
    return one.info() == other.info() && std::memcmp(one.data(), other.data(), one.size_bytes()) == 0;
  };
  if (!is_same(known->first<TensorOutput>()->tensor, expected.first<TensorOutput>()->tensor) ||
      !is_same(known->first<Segmentation>()->mask, expected.first<Segmentation>()->mask))
    throw std::runtime_error("other bytes of a tensor");
}

TEST(IpcMetadata, GoesToAnotherProcess) {
  tenon_test::PeerProcess peer([](Link& link) {
    expect_all(next_frame(link));
    Frame back = frame_of();
    of(back).add(Detection{{1, 2, 3, 4}, "from the other process", 1, 1, 5});
    if (!link.send(back, 1)) throw std::runtime_error("not sent");
    (void)next<Returned>(link);
  });
  Frame frame = frame_of();
  frame.set_timestamp_ns(12);
  add_all(of(frame));
  ASSERT_TRUE(peer.link.send(frame, 1));
  {
    EXPECT_EQ(next<Returned>(peer.link).sequence, 1u);
    const Frame back = next_frame(peer.link);
    ASSERT_TRUE(find(back));
    EXPECT_EQ(find(back)->first<Detection>()->label, "from the other process");
  }
  EXPECT_EQ(peer.wait(), 0) << "the other process read something else";
}

TEST(IpcMetadata, ComesInAMemfdWhereItIsLarge) {
  auto [ours, theirs] = Link::pair();
  Frame frame = frame_of();
  add_all(of(frame));
  of(frame).add(Segmentation{{}, counted(ElementType::kU8, {720, 1280}), {}});
  const FrameMetadata known(frame);
  EXPECT_GE(known.borrow_fd(), 0);
  EXPECT_EQ(known.part_of_message().size(), sizeof(wire::Metadata));
  const std::size_t before = open_descriptors();
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(ours.send(frame, i, known));
    const Frame got = next_frame(theirs);
    const auto masks = find(got)->all<Segmentation>();
    ASSERT_EQ(masks.size(), 2u);
    EXPECT_EQ(masks[1]->mask.shape(), (Shape{720, 1280}));
    EXPECT_EQ(masks[1]->mask.data<std::uint8_t>()[1001], 1001 % 256);
  }
  EXPECT_LE(open_descriptors(), before + 1) << "more than the frame's own memory stays open";
}

TEST(IpcMetadata, OfAUsersOwnTypeStaysBehindWithWhatBelongsToIt) {
  auto [ours, theirs] = Link::pair();
  Frame frame = frame_of();
  const Id weather = of(frame).add(Weather{21.5});
  of(frame).add(Classification{"warm", 0, 1, ""}, weather);
  const Id car = of(frame).add(Detection{{1, 2, 3, 4}, "car"});
  of(frame).add(Classification{"red", 0, 1, ""}, car);
  ASSERT_TRUE(ours.send(frame, 1));
  const Frame got = next_frame(theirs);
  EXPECT_EQ(find(got)->size(), 2u);
  const auto classes = find(got)->of<Classification>(find(got)->all<Detection>().at(0).id);
  ASSERT_EQ(classes.size(), 1u);
  EXPECT_EQ(classes[0]->label, "red");
}

TEST(IpcMetadata, IsNoneWhereNothingIsKnown) {
  auto [ours, theirs] = Link::pair();
  Frame frame = frame_of();
  (void)of(frame);
  ASSERT_TRUE(ours.send(frame, 1));
  EXPECT_FALSE(find(next_frame(theirs)));
}

/// The first version's messages, byte for byte in size and number, for an end that has not said more in its Hello.
TEST(IpcMetadata, IsKeptFromAReleaseThatDoesNotReadIt) {
  auto ends = detail::socket_pair();
  Link ours(std::move(ends.first));
  Frame frame = frame_of();
  add_all(of(frame));
  const auto sent = [&] {
    EXPECT_TRUE(ours.send(frame, 1));
    detail::Packet packet;
    EXPECT_EQ(detail::take(ends.second.get(), packet), detail::Got::kPacket);
    wire::Header header;
    std::memcpy(&header, packet.bytes.data(), sizeof header);
    return std::pair(header.version, packet.size);
  };
  const auto say_hello = [&](std::uint64_t reads) {
    wire::Hello hello;
    hello.header.version = wire::kFirstVersion;
    hello.header.kind = static_cast<std::uint16_t>(wire::Kind::kHello);
    hello.header.sequence = reads;
    ASSERT_EQ(detail::put(ends.second.get(), std::as_bytes(std::span(&hello, 1)), {}), detail::Put::kSent);
    (void)next<Stream>(ours);
  };
  const std::pair first(wire::kFirstVersion, sizeof(wire::Frame));
  EXPECT_EQ(sent(), first) << "before its Hello";
  say_hello(0);
  EXPECT_EQ(sent(), first);
  const Frame known = std::exchange(frame, frame_of());
  of(frame).add(TensorOutput{Tensor(ElementType::kString, {2}), "names", "", ""});
  EXPECT_EQ(sent(), first) << "metadata that no process could get are no error where none are sent";
  frame = known;
  say_hello(99);
  EXPECT_EQ(sent().first, wire::kMetadataVersion) << "a newer release reads this one's";
  frame = frame_of();
  EXPECT_EQ(sent(), first) << "without metadata every release reads it";
  // And our own first message is one of the first version.
  ASSERT_TRUE(ours.send_hello({}));
  detail::Packet packet;
  ASSERT_EQ(detail::take(ends.second.get(), packet), detail::Got::kPacket);
  EXPECT_EQ(packet.size, sizeof(wire::Hello));
  wire::Header header;
  std::memcpy(&header, packet.bytes.data(), sizeof header);
  EXPECT_EQ(header.version, wire::kFirstVersion);
}

TEST(IpcMetadata, ThatIsTooMuchIsAnErrorOfTheSender) {
  Frame many = frame_of();
  for (std::size_t i = 0; i <= wire::kMaxMetadataEntries; ++i) of(many).add(NotLookedAt{});
  EXPECT_THAT(error_of([&] { FrameMetadata{many}; }).what(),
              AllOf(HasSubstr("16384 entries"), HasSubstr("PublisherOptions::metadata")));
  Frame large = frame_of();
  of(large).add(TensorOutput{Tensor(ElementType::kU8, {wire::kMaxMetadataBytes}), "depth", "", ""});
  EXPECT_THAT(error_of([&] { FrameMetadata{large}; }).what(),
              AllOf(HasSubstr("entry 0 (tensor)"), HasSubstr("16777216")));
  Frame texts = frame_of();
  of(texts).add(TensorOutput{Tensor(ElementType::kString, {2}), "names", "", ""});
  EXPECT_EQ(error_of([&] { FrameMetadata{texts}; }).code(), Code::kUnimplemented);
}

/// Else each receiver would have it, and the sender would not know.
TEST(IpcMetadata, ThatNoReceiverTakesIsAnErrorOfTheSender) {
  Frame mask = frame_of();
  of(mask).add(Segmentation{{}, Tensor(ElementType::kU16, {2, 2}), {}});
  EXPECT_THAT(error_of([&] { FrameMetadata{mask}; }).what(),
              AllOf(HasSubstr("entry 0 (segmentation): its mask is u16"), HasSubstr("expected u8 [height, width]"),
                    HasSubstr("PublisherOptions::metadata")));
  Frame deep = frame_of();
  of(deep).add(TensorOutput{Tensor(ElementType::kU8, Shape(33, 1)), "deep", "", ""});
  EXPECT_THAT(error_of([&] { FrameMetadata{deep}; }).what(), HasSubstr("its tensor has 33 axes"));
}

/// A message of version 2, and what its parts are.
struct Message {
  wire::Frame frame = true_frame();
  wire::Metadata told;
  std::vector<std::byte> entries;

  explicit Message(const std::function<void(Collection&)>& add) {
    frame.header.version = wire::kMetadataVersion;
    Frame source = frame_of();
    add(of(source));
    const FrameMetadata known(source);
    std::memcpy(&told, known.part_of_message().data(), sizeof told);
    entries.assign(known.part_of_message().begin() + sizeof told, known.part_of_message().end());
  }
  wire::MetadataEntry& entry() { return *reinterpret_cast<wire::MetadataEntry*>(entries.data()); }
  /// The fields of the first entry.
  std::byte* fields() { return entries.data() + sizeof(wire::MetadataEntry); }
  template <typename T>
  void put(std::size_t at, T value) {
    std::memcpy(fields() + at, &value, sizeof value);
  }
  std::vector<std::byte> bytes() const {
    const auto frame_bytes = std::as_bytes(std::span(&frame, 1)), told_bytes = std::as_bytes(std::span(&told, 1));
    std::vector<std::byte> all(frame_bytes.begin(), frame_bytes.end());
    all.insert(all.end(), told_bytes.begin(), told_bytes.end());
    all.insert(all.end(), entries.begin(), entries.end());
    return all;
  }
};

Code answer_to(const Message& message, const std::vector<int>& descriptors, std::string* text) {
  Liar liar;
  const std::vector<std::byte> bytes = message.bytes();
  EXPECT_EQ(detail::put(liar.socket.get(), bytes, descriptors), detail::Put::kSent);
  return liar.answer(text);
}

void add_car(Collection& known) { known.add(Detection{{1, 2, 3, 4}, "car", 7, 0.5f, 3}); }
void add_mask(Collection& known) { known.add(Segmentation{{}, counted(ElementType::kU8, {2, 2}), {"sky"}}); }
void add_zone(Collection& known) { known.add(Zone{"z", Zone::Shape::kZone, {{1, 2}}, {}, false}); }
void add_event(Collection& known) { known.add(ZoneEvent{"z", ZoneEvent::What::kInside, 0, 1}); }

TEST(IpcLies, AboutMetadataNameTheField) {
  struct Lie {
    const char* named;
    std::function<void(Collection&)> add;
    std::function<void(Message&)> change;
    Code expected;
  };
  const UniqueFd memory = memfd(8192, F_SEAL_SHRINK);
  const std::vector<Lie> lies = {
      {"is_apart", add_car, [](auto& m) { m.told.is_apart = 2; }, Code::kOutOfRange},
      {"size_bytes", add_car, [](auto& m) { m.told.size_bytes = UINT64_MAX; }, Code::kOutOfRange},
      {"size_bytes", add_car, [](auto& m) { ++m.told.size_bytes; }, Code::kDataLoss},
      {"16384", add_car, [](auto& m) { m.told.entries = UINT32_MAX; }, Code::kOutOfRange},
      {"entry 1 of 2", add_car, [](auto& m) { m.told.entries = 2; }, Code::kDataLoss},
      {"follow the last entry", add_car, [](auto& m) { m.told.entries = 0; }, Code::kDataLoss},
      {"its size", add_car, [](auto& m) { m.entry().size_bytes = UINT32_MAX; }, Code::kDataLoss},
      {"its track_id", add_car, [](auto& m) { --m.entry().size_bytes; }, Code::kDataLoss},
      {"kind 14", add_car, [](auto& m) { m.entry().kind = 14; }, Code::kUnimplemented},
      {"kind 0", add_car, [](auto& m) { m.entry().kind = 0; }, Code::kUnimplemented},
      {"id 0", add_car, [](auto& m) { m.entry().id = 0; }, Code::kInvalidArgument},
      {"parent 5", add_car, [](auto& m) { m.entry().parent = 5; }, Code::kInvalidArgument},
      {"parent 1", add_car, [](auto& m) { m.entry().parent = m.entry().id; }, Code::kInvalidArgument},
      {"(detection): its label", add_car, [](auto& m) { m.put(16, UINT32_MAX); }, Code::kDataLoss},
      {"follow its last field", add_car, [](auto& m) { m.put(16, std::uint32_t{2}); }, Code::kDataLoss},
      {"(segmentation): its mask has the unknown type", add_mask, [](auto& m) { m.put(20, 'x'); },
       Code::kInvalidArgument},
      {"its mask has the unknown type", add_mask, [](auto& m) { std::memcpy(m.fields() + 20, "??", 2); },
       Code::kInvalidArgument},
      {"expected u8 [height, width]", add_mask, [](auto& m) { std::memcpy(m.fields() + 20, "i8", 2); },
       Code::kInvalidArgument},
      {"axes", add_mask, [](auto& m) { m.put(22, std::uint32_t{33}); }, Code::kInvalidArgument},
      {"impossible shape", add_mask, [](auto& m) { m.put(26, UINT64_MAX); }, Code::kOutOfRange},
      {"impossible shape", add_mask, [](auto& m) { m.put(26, std::uint64_t{0}), m.put(34, UINT64_MAX); },
       Code::kOutOfRange},
      {"its mask needs", add_mask, [](auto& m) { m.put(26, std::uint64_t{1} << 40); }, Code::kDataLoss},
      {"its labels", add_mask, [](auto& m) { m.put(46, UINT32_MAX); }, Code::kDataLoss},
      {"(zone): its shape", add_zone, [](auto& m) { m.put(5, char{3}); }, Code::kInvalidArgument},
      {"its y needs", add_zone, [](auto& m) { m.put(6, UINT32_MAX); }, Code::kDataLoss},
      {"(zone_event): its what", add_event, [](auto& m) { m.put(5, char{7}); }, Code::kInvalidArgument},
  };
  for (const Lie& lie : lies) {
    const std::size_t before = open_descriptors();
    Message message(lie.add);
    std::string text;
    ASSERT_EQ(answer_to(message, {memory.get()}, &text), Code::kOk) << text;
    lie.change(message);
    EXPECT_EQ(answer_to(message, {memory.get()}, &text), lie.expected) << lie.named << ": " << text;
    EXPECT_THAT(text, HasSubstr(lie.named));
    EXPECT_EQ(open_descriptors(), before) << lie.named;
  }
}

TEST(IpcLies, AboutMetadataInAMemfdAreErrors) {
  const UniqueFd memory = memfd(8192, F_SEAL_SHRINK), other = memfd(4096, 0);
  int pipe_ends[2];
  ASSERT_EQ(::pipe2(pipe_ends, O_CLOEXEC), 0);
  const UniqueFd read_end(pipe_ends[0]), write_end(pipe_ends[1]);
  Message message(add_car);
  message.entries.clear();
  message.told = {1, 1, 8192};
  std::string text;
  EXPECT_EQ(answer_to(message, {memory.get()}, &text), Code::kInvalidArgument) << "no descriptor for the metadata";
  EXPECT_EQ(answer_to(message, {memory.get(), read_end.get()}, &text), Code::kInvalidArgument) << text;
  EXPECT_THAT(text, HasSubstr("no memfd"));
  EXPECT_EQ(answer_to(message, {memory.get(), other.get()}, &text), Code::kDataLoss) << text;
  EXPECT_THAT(text, HasSubstr("a memfd of 4096 bytes"));
  message.told.size_bytes = 4096;
  EXPECT_EQ(answer_to(message, {memory.get(), other.get()}, &text), Code::kInvalidArgument)
      << "zeros are no entry: " << text;
}

/// Metadata with random bytes changed: an error or a collection that can be read, nothing else.
TEST(IpcLies, OfAnyKindInMetadataAreHarmless) {
  std::mt19937 random(11);
  const Message honest(&add_all);
  std::size_t accepted = 0;
  for (int i = 0; i < 4000; ++i) {
    std::vector<std::byte> bytes = honest.entries;
    for (unsigned changes = 1 + random() % 3; changes-- > 0;)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    try {
      const auto known = detail::read_metadata(bytes, honest.told.entries);
      EXPECT_FALSE(known->json().empty());
      (void)known->cropped({1, 1, 20, 20});
      ++accepted;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(accepted, 200u);
}

}  // namespace metadata_test
}  // namespace tenon::ipc
