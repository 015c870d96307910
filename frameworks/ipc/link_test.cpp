// SPDX-License-Identifier: Apache-2.0
// Frames and tensors over a link: what arrives, what goes back, fences both ways, and ends that lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/ipc/ipc.hpp>
#include <tenon/frameworks/ipc/testing/ends.hpp>

namespace tenon::ipc {
namespace link_test {

using namespace ends;
using ::testing::HasSubstr;

bool is_readable(const UniqueFd& fd) {
  pollfd entry{fd.get(), POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

TEST(IpcLink, BringsAFrameInPlace) {
  auto [ours, theirs] = Link::pair();
  Frame frame = frame_of();
  frame.set_timestamp_ns(-5);
  std::memset(frame.plane(1).data(), 7, 1);
  ASSERT_TRUE(ours.send(frame, 11));
  Arrived arrived = next<Arrived>(theirs);
  EXPECT_EQ(arrived.sequence, 11u);
  {
    const Frame got = std::get<Frame>(std::exchange(arrived.what, Frame()));
    EXPECT_EQ(got.info(), kInfo);
    EXPECT_EQ(got.timestamp_ns(), -5);
    ASSERT_EQ(got.plane_count(), 2u);
    for (std::size_t p = 0; p < 2; ++p) {
      EXPECT_EQ(got.plane(p).byte_strides(), frame.plane(p).byte_strides());
      EXPECT_EQ(got.plane(p).offset(), frame.plane(p).offset());
      EXPECT_EQ(got.plane(p).memory()->identity(), frame.plane(p).memory()->identity()) << "other bytes";
    }
    EXPECT_EQ(*static_cast<const char*>(got.plane(1).data()), 7);
    EXPECT_FALSE(ours.receive(Deadline::min())) << "given back while it is held";
  }
  EXPECT_EQ(next<Returned>(ours).sequence, 11u);
}

TEST(IpcLink, BringsTensorsOfEveryType) {
  auto [ours, theirs] = Link::pair();
  std::uint64_t sequence = 0;
  for (const ElementTypeInfo& type : kElementTypes) {
    if (type.bits == 0 || type.type == ElementType::kString) continue;
    const Tensor sent({type.type, {2, 3, 4}, {}}, IpcMemory::allocate(context(), 4096), 64);
    ASSERT_TRUE(ours.send(sent, ++sequence));
    const Arrived arrived = next<Arrived>(theirs);
    EXPECT_EQ(std::get<Tensor>(arrived.what).info(), sent.info()) << type.name;
    EXPECT_EQ(std::get<Tensor>(arrived.what).offset(), 64u);
  }
  const Tensor whole({element::f32, {8, 16}, {}}, IpcMemory::allocate(context(), 4096));
  ASSERT_TRUE(ours.send(whole.slice({2, 4}, {5, 9}), ++sequence));
  EXPECT_EQ(std::get<Tensor>(next<Arrived>(theirs).what).byte_strides(), whole.byte_strides());
}

TEST(IpcLink, HandsAMemoryOverOnce) {
  auto [ours, theirs] = Link::pair();
  const Frame frame = frame_of();
  ASSERT_TRUE(ours.send(frame, 1));
  const Ref<Memory> first = next_frame(theirs).plane(0).memory();
  const std::size_t before = open_descriptors();
  for (std::uint64_t i = 2; i < 100; ++i) {
    ASSERT_TRUE(ours.send(frame, i));
    ASSERT_EQ(next_frame(theirs).plane(0).memory(), first) << "mapped again";
    next<Returned>(ours);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(IpcLink, ForgetsTheOldestOfManyMemories) {
  auto [ours, theirs] = Link::pair();
  std::vector<Frame> frames;
  for (int i = 0; i < 100; ++i) {
    frames.push_back(frame_of());
    std::memset(frames.back().plane(0).data(), i, 1);
  }
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(ours.send(frames[static_cast<std::size_t>(i)], 1));
      ASSERT_EQ(*static_cast<const unsigned char*>(next_frame(theirs).plane(0).data()), i);
      next<Returned>(ours);
    }
  }
}

/// The packet itself is looked at: in one process both ends share the state of a memory.
TEST(IpcLink, SendsFencesOfUnfinishedWork) {
  auto ends = detail::socket_pair();
  Link ours(std::move(ends.first));
  const Frame frame = frame_of();
  const auto writer = make_ref<HostTimeline>("a writer");
  const TimelinePoint written = writer->next();
  frame.plane(0).memory()->hazards().wrote(written);
  ASSERT_TRUE(ours.send(frame, 1));
  detail::Packet packet;
  ASSERT_EQ(detail::take(ends.second.get(), packet), detail::Got::kPacket);
  wire::Frame message;
  ASSERT_EQ(packet.size, sizeof message);
  std::memcpy(&message, packet.bytes.data(), sizeof message);
  EXPECT_EQ(message.brought.new_memories, 1);
  ASSERT_EQ(message.brought.fences, 1);
  ASSERT_EQ(packet.descriptor_count, 2u);
  EXPECT_FALSE(is_readable(packet.descriptors[1])) << "it is still written";
  writer->advance(written.value());
  pollfd entry{packet.descriptors[1].get(), POLLIN, 0};
  EXPECT_EQ(::poll(&entry, 1, 5000), 1);
  ASSERT_TRUE(ours.send(frame, 2));
  ASSERT_EQ(detail::take(ends.second.get(), packet), detail::Got::kPacket);
  EXPECT_EQ(packet.descriptor_count, 0u) << "finished work needs no fence, and the memory is known";
}

TEST(IpcLink, SendsNoFrameThatCouldNotBeWritten) {
  auto [ours, theirs] = Link::pair();
  const Frame frame = frame_of();
  const auto writer = make_ref<HostTimeline>("a writer");
  const TimelinePoint written = writer->next();
  writer->fail(written.value(), std::make_exception_ptr(Error(Code::kDataLoss, "the decoder failed")));
  frame.plane(0).memory()->hazards().wrote(written);
  EXPECT_THROW((void)ours.send(frame, 1), Error);
  frame.plane(0).memory()->hazards().forget_failures();
  ASSERT_TRUE(ours.send(frame, 2)) << "and its memory is brought, since the first message was not sent";
  EXPECT_EQ(next_frame(theirs).info(), kInfo);
}

TEST(IpcLink, CarriesFencesBack) {
  auto [ours, theirs] = Link::pair();
  const Frame frame = frame_of();
  ASSERT_TRUE(ours.send(frame, 1));
  const auto reader = make_ref<HostTimeline>("a reader");
  TimelinePoint read;
  {
    const Frame got = next_frame(theirs);
    read = reader->next();
    got.plane(0).memory()->hazards().read_until(read);
  }
  const Returned returned = next<Returned>(ours);
  ASSERT_EQ(returned.fences.size(), 1u);
  EXPECT_FALSE(is_readable(returned.fences[0])) << "the reader still works on it";
  reader->advance(read.value());
  pollfd entry{returned.fences[0].get(), POLLIN, 0};
  EXPECT_EQ(::poll(&entry, 1, 5000), 1);
}

TEST(IpcLink, CarriesFencesBackBesideWorkThatFailed) {
  auto [ours, theirs] = Link::pair();
  const Frame frame = frame_of();
  ASSERT_TRUE(ours.send(frame, 1));
  const auto writer = make_ref<HostTimeline>("a writer"), reader = make_ref<HostTimeline>("a reader");
  const TimelinePoint read = reader->next();
  {
    const Frame got = next_frame(theirs);
    const TimelinePoint written = writer->next();
    writer->fail(written.value(), std::make_exception_ptr(Error(Code::kDataLoss, "the filter failed")));
    got.plane(0).memory()->hazards().wrote(written);
    got.plane(0).memory()->hazards().read_until(read);
  }
  const Returned returned = next<Returned>(ours);
  ASSERT_EQ(returned.fences.size(), 1u) << "the reader still works on it";
  EXPECT_FALSE(is_readable(returned.fences[0]));
  reader->advance(read.value());
  pollfd entry{returned.fences[0].get(), POLLIN, 0};
  EXPECT_EQ(::poll(&entry, 1, 5000), 1);
}

TEST(IpcLink, SaysThatTheOtherEndIsGone) {
  auto [ours, theirs] = Link::pair();
  const Frame frame = frame_of();
  ASSERT_TRUE(ours.send(frame, 1));
  Frame held = next_frame(theirs);
  { const Link gone = std::move(ours); }
  EXPECT_THROW(
      try { (void)theirs.receive(Clock::now() + 30s); } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kUnavailable);
        throw;
      },
      Error);
  EXPECT_EQ(held.plane(0).memory()->size_bytes(), frame.plane(0).memory()->size_bytes()) << "what arrived stays";
  held = {};  // Gives back to nothing: no signal, no error.
  EXPECT_THROW((void)theirs.send(frame, 1), Error);
}

/// The kernel tells the other end first that messages were left unread.
TEST(IpcLink, BringsWhatWasSentBeforeTheOtherEndWentWithMessagesUnread) {
  auto [ours, theirs] = Link::pair();
  ASSERT_TRUE(ours.send_hello({}));
  ASSERT_TRUE(theirs.send_hello({}));
  ASSERT_TRUE(theirs.send_end());
  { const Link gone = std::move(theirs); }
  EXPECT_TRUE(std::holds_alternative<Stream>(ours.receive(Clock::now() + 30s).value()));
  EXPECT_TRUE(std::holds_alternative<Ended>(ours.receive(Clock::now() + 30s).value()));
  try {
    (void)ours.receive(Clock::now() + 30s);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable);
  }
}

TEST(IpcLink, RefusesToSendWhatHasNoDescriptor) {
  auto [ours, theirs] = Link::pair();
  EXPECT_THROW((void)ours.send(Frame::allocate(kInfo), 1), Error);
  EXPECT_THROW((void)ours.send(Frame(), 1), Error);
  EXPECT_THROW((void)ours.send(Tensor(), 1), Error);
  EXPECT_FALSE(theirs.receive(Deadline::min()));
}

TEST(IpcLink, BringsAMemoryAgainThatWasNotSent) {
  auto [ours, theirs] = Link::pair();
  const Frame good = frame_of(), bad = Frame::allocate(kInfo);
  std::array<PlanePlace, 2> places{
      {{good.plane(0).memory(), good.plane(0).offset(), 64},
       {bad.plane(1).memory(), bad.plane(1).offset(), static_cast<std::size_t>(bad.plane(1).byte_strides()[0])}}};
  EXPECT_THROW((void)ours.send(Frame(kInfo, places), 1), Error) << "its second plane has no descriptor";
  ASSERT_TRUE(ours.send(good, 2));
  EXPECT_EQ(next<Arrived>(theirs).sequence, 2u) << "the memory of its first plane did not come";
}

TEST(IpcLink, IsFullIfTheOtherEndDoesNotRead) {
  auto [ours, theirs] = Link::pair();
  const Frame frame = frame_of();
  std::uint64_t sent = 0;
  while (sent < 100'000 && ours.send(frame, sent)) ++sent;
  ASSERT_LT(sent, 100'000u);
  for (std::uint64_t i = 0; i < sent; ++i) ASSERT_EQ(next<Arrived>(theirs).sequence, i);
  EXPECT_TRUE(ours.send(frame, sent)) << "there is room again";
  EXPECT_EQ(next<Arrived>(theirs).sequence, sent);
}

TEST(IpcLies, AreErrorsAndLeaveNothingBehind) {
  const UniqueFd memory = memfd(8192, F_SEAL_SHRINK), unsealed = memfd(8192, 0), event(::eventfd(0, EFD_CLOEXEC));
  int pipe_ends[2];
  ASSERT_EQ(::pipe2(pipe_ends, O_CLOEXEC), 0);
  const UniqueFd read_end(pipe_ends[0]), write_end(pipe_ends[1]);
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(
      [&] {
        Liar honest;
        honest.say(true_frame(), {memory.get()});
        return honest.answer();
      }(),
      Code::kOk);
  struct Lie {
    const char* name;
    std::function<void(wire::Frame&)> change;
    std::vector<int> descriptors;
    Code expected;
  };
  const int fd = memory.get();
  const std::vector<Lie> lies = {
      {"magic", [](auto& m) { m.header.magic = 1; }, {fd}, Code::kDataLoss},
      {"version", [](auto& m) { m.header.version = 9; }, {fd}, Code::kUnimplemented},
      {"kind", [](auto& m) { m.header.kind = 77; }, {fd}, Code::kUnimplemented},
      {"another size",
       [](auto& m) { m.header.kind = static_cast<std::uint16_t>(wire::Kind::kTensor); },
       {fd},
       Code::kDataLoss},
      {"no descriptor", [](auto&) {}, {}, Code::kInvalidArgument},
      {"two descriptors", [](auto&) {}, {fd, fd}, Code::kInvalidArgument},
      {"five memories", [](auto& m) { m.brought.new_memories = 5; }, {fd, fd, fd, fd, fd}, Code::kInvalidArgument},
      {"memory 64", [](auto& m) { m.brought.memories[0].number = 64; }, {fd}, Code::kOutOfRange},
      {"memory 2^32-1", [](auto& m) { m.planes[1].memory = UINT32_MAX; }, {fd}, Code::kOutOfRange},
      {"another memory", [](auto& m) { m.planes[1].memory = 4; }, {fd}, Code::kOutOfRange},
      {"more bytes than there are", [](auto& m) { m.brought.memories[0].size_bytes = 8193; }, {fd}, Code::kOutOfRange},
      {"an endless memory",
       [](auto& m) { m.brought.memories[0].size_bytes = UINT64_MAX; },
       {fd},
       Code::kResourceExhausted},
      {"not sealed", [](auto&) {}, {unsealed.get()}, Code::kInvalidArgument},
      {"a pipe as memory", [](auto&) {}, {pipe_ends[0]}, Code::kInvalidArgument},
      {"an eventfd as memory", [](auto&) {}, {event.get()}, Code::kInvalidArgument},
      {"a file as memory", [](auto&) {}, {file.get()}, Code::kInvalidArgument},
      {"a pipe as fence",
       [](auto& m) { m.brought.fences = 1, m.brought.fence_kinds[0] = 1; },
       {fd, pipe_ends[0]},
       Code::kInvalidArgument},
      {"an eventfd as sync file",
       [](auto& m) { m.brought.fences = 1, m.brought.fence_kinds[0] = 2; },
       {fd, event.get()},
       Code::kInvalidArgument},
      {"an unknown fence",
       [](auto& m) { m.brought.fences = 1, m.brought.fence_kinds[0] = 9; },
       {fd, event.get()},
       Code::kInvalidArgument},
      {"plane past the end", [](auto& m) { m.planes[1].offset = 8192; }, {fd}, Code::kOutOfRange},
      {"plane that wraps", [](auto& m) { m.planes[1].offset = UINT64_MAX - 63; }, {fd}, Code::kOutOfRange},
      {"pitch that wraps", [](auto& m) { m.planes[0].pitch_bytes = UINT64_MAX / 2; }, {fd}, Code::kOutOfRange},
      {"pitch below a row", [](auto& m) { m.planes[0].pitch_bytes = 63; }, {fd}, Code::kInvalidArgument},
      {"one plane", [](auto& m) { m.plane_count = 1; }, {fd}, Code::kInvalidArgument},
      {"no plane", [](auto& m) { m.plane_count = 0; }, {fd}, Code::kInvalidArgument},
      {"five planes", [](auto& m) { m.plane_count = 5; }, {fd}, Code::kInvalidArgument},
      {"no width", [](auto& m) { m.width_px = 0; }, {fd}, Code::kInvalidArgument},
      {"endless width", [](auto& m) { m.width_px = UINT32_MAX; }, {fd}, Code::kInvalidArgument},
      {"unknown format", [](auto& m) { m.fourcc = 1; }, {fd}, Code::kUnimplemented},
      {"unknown rotation", [](auto& m) { m.rotation = 8; }, {fd}, Code::kInvalidArgument},
      {"unknown colours", [](auto& m) { m.colour_space = 200; }, {fd}, Code::kInvalidArgument},
  };
  for (const Lie& lie : lies) {
    const std::size_t before = open_descriptors();
    {
      Liar liar;
      wire::Frame message = true_frame();
      lie.change(message);
      liar.say(message, lie.descriptors);
      EXPECT_EQ(liar.answer(), lie.expected) << lie.name;
    }
    EXPECT_EQ(open_descriptors(), before) << lie.name;
  }
}

TEST(IpcLink, WaitsForFencesThatCame) {
  const UniqueFd memory = memfd(8192, F_SEAL_SHRINK), written(::eventfd(0, EFD_CLOEXEC));
  Liar sender;
  wire::Frame message = true_frame();
  message.brought.fences = 1;
  message.brought.fence_kinds[0] = static_cast<std::uint8_t>(wire::FenceKind::kEventFd);
  sender.say(message, {memory.get(), written.get()});
  const Frame got = next_frame(sender.link);
  try {
    got.plane(0).memory()->wait_for(Access::kRead, Clock::now() + 5ms);
    FAIL() << "it is read while it is written";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kDeadlineExceeded);
  }
  ASSERT_EQ(::eventfd_write(written.get(), 1), 0);
  got.plane(0).memory()->wait_for(Access::kRead, Clock::now() + 30s);
}

TEST(IpcLies, OfFencesThatAreGivenBackAreErrors) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe2(pipe_ends, O_CLOEXEC), 0);
  const UniqueFd read_end(pipe_ends[0]), write_end(pipe_ends[1]), event(::eventfd(0, EFD_CLOEXEC));
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  wire::Release message;
  message.header.kind = static_cast<std::uint16_t>(wire::Kind::kRelease);
  message.fences = 1;
  for (const auto& [fd, expected] : {std::pair(event.get(), Code::kOk), std::pair(file.get(), Code::kInvalidArgument),
                                     std::pair(read_end.get(), Code::kInvalidArgument)}) {
    Liar liar;
    liar.say(message, {fd});
    EXPECT_EQ(liar.answer(), expected) << "a poll of it may never return";
  }
}

TEST(IpcLies, OfTensorsAreErrors) {
  const UniqueFd memory = memfd(8192, F_SEAL_SHRINK);
  wire::Tensor honest;
  honest.header.kind = static_cast<std::uint16_t>(wire::Kind::kTensor);
  honest.brought.new_memories = 1;
  honest.brought.memories[0] = {0, 0, 8192, 0};
  std::memcpy(honest.element_type.data(), "f32", 3);
  honest.rank = 2;
  honest.shape = {16, 16};
  const auto answer = [&](const std::function<void(wire::Tensor&)>& change) {
    Liar liar;
    wire::Tensor message = honest;
    change(message);
    liar.say(message, {memory.get()});
    return liar.answer();
  };
  EXPECT_EQ(answer([](auto&) {}), Code::kOk);
  EXPECT_EQ(answer([](auto& m) { m.rank = 9; }), Code::kInvalidArgument);
  EXPECT_EQ(answer([](auto& m) { m.element_type.fill('x'); }), Code::kInvalidArgument);
  EXPECT_EQ(answer([](auto& m) { std::memcpy(m.element_type.data(), "string", 7); }), Code::kInvalidArgument);
  EXPECT_EQ(answer([](auto& m) { std::memcpy(m.element_type.data(), "dynamic", 8); }), Code::kInvalidArgument);
  EXPECT_EQ(answer([](auto& m) { m.shape = {UINT64_MAX, UINT64_MAX}; }), Code::kOutOfRange);
  EXPECT_EQ(answer([](auto& m) { m.shape = {1, 2049}; }), Code::kOutOfRange);
  EXPECT_EQ(answer([](auto& m) { m.offset = UINT64_MAX; }), Code::kOutOfRange);
  EXPECT_EQ(answer([](auto& m) { m.has_strides = 1, m.byte_strides = {-64, 4}; }), Code::kOutOfRange);
  EXPECT_EQ(answer([](auto& m) { m.has_strides = 1, m.byte_strides = {INT64_MAX, 4}; }), Code::kOutOfRange);
}

TEST(IpcLies, OfManyDescriptorsAreClosed) {
  const UniqueFd memory = memfd(8192, F_SEAL_SHRINK);
  const std::size_t before = open_descriptors();
  {
    Liar liar;
    wire::Frame message = true_frame();
    iovec part{&message, sizeof message};
    constexpr std::size_t kMany = 200;
    std::vector<char> control(CMSG_SPACE(sizeof(int) * kMany));
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * kMany);
    for (std::size_t i = 0; i < kMany; ++i) std::memcpy(CMSG_DATA(rights) + i * sizeof(int), &memory, sizeof(int));
    ASSERT_GT(::sendmsg(liar.socket.get(), &header, 0), 0);
    EXPECT_EQ(liar.answer(), Code::kDataLoss);
    std::vector<char> large(100'000, 'x');
    ASSERT_GT(::send(liar.socket.get(), large.data(), large.size(), 0), 0);
    EXPECT_EQ(liar.answer(), Code::kDataLoss);
    ASSERT_GT(::send(liar.socket.get(), "x", 1, 0), 0);
    EXPECT_EQ(liar.answer(), Code::kDataLoss);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(IpcLies, AboutSizeDoNotFillThisProcess) {
  LinkLimits limits;
  limits.mapped_bytes = 10'000;
  Liar liar(detail::socket_pair(), limits);
  const UniqueFd memory = memfd(8192, F_SEAL_SHRINK);
  liar.say(true_frame(), {memory.get()});
  EXPECT_EQ(liar.answer(), Code::kOk);
  wire::Frame second = true_frame();
  second.brought.memories[0].number = 4;
  second.brought.memories[0].size_bytes = 1;  // It says little, and brings much.
  liar.say(second, {memory.get()});
  std::string text;
  EXPECT_EQ(liar.answer(&text), Code::kResourceExhausted);
  EXPECT_THAT(text, HasSubstr("LinkLimits::mapped_bytes"));
}

/// Frames with random bits changed: an error or a frame whose planes lie in its memory, nothing else.
TEST(IpcLies, OfAnyKindAreHarmless) {
  std::mt19937 random(7);
  const UniqueFd memory = memfd(8192, F_SEAL_SHRINK);
  std::size_t accepted = 0;
  for (int i = 0; i < 5000; ++i) {
    Liar liar;
    wire::Frame message = true_frame();
    auto* const bytes = reinterpret_cast<unsigned char*>(&message);
    for (unsigned changes = random() % 4; changes-- > 0;)
      bytes[random() % sizeof message] = static_cast<unsigned char>(random());
    liar.say(message, {memory.get()});
    try {
      auto got = liar.link.receive(Clock::now() + 30s);
      if (!got || !std::holds_alternative<Arrived>(*got)) continue;
      const Frame& frame = std::get<Frame>(std::get<Arrived>(*got).what);
      for (const Tensor& plane : frame.planes()) {
        const std::size_t extent = checked_extent_bytes(plane.info()).value();
        ASSERT_LE(plane.offset() + extent, plane.memory()->size_bytes());
        volatile char touched = static_cast<const char*>(plane.data())[extent - 1];
        (void)touched;
      }
      ++accepted;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(accepted, 100u);
}

}  // namespace link_test
}  // namespace tenon::ipc
