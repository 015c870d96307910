// SPDX-License-Identifier: Apache-2.0
// A publisher and its subscribers, in this process and in others: those that are good, slow, killed, and those that lie.
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/ipc/ipc.hpp>

#include <tenon/frameworks/ipc/testing/peer.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::ipc {
namespace publisher_test {

using namespace std::chrono_literals;

constexpr FrameInfo kInfo{kGray8, 64, 48};

class IpcPublisher : public ::testing::Test {
 protected:
  IpcPublisher() { wanted_.fd = FdKind::kMemfd; }
  /// For readers that are good: on a busy machine the patience of two seconds may be over before one gives a frame back.
  static PublisherOptions patient() {
    PublisherOptions options;
    options.patience = 60s;
    return options;
  }
  static Deadline soon() { return Clock::now() + 30s; }
  Subscriber subscriber() {
    Subscriber made(path_, soon());
    made.begin();
    return made;
  }
  /// A frame whose every byte is `value`, from the pool.
  Frame frame(int value) {
    Frame made = pool_.acquire(soon());
    std::memset(made.plane(0).data(), value, 64 * 48);
    return made;
  }
  static int value_of(const Frame& frame) {
    const auto* const bytes = static_cast<const unsigned char*>(frame.plane(0).data());
    for (std::size_t i = 1; i < 64 * 48; ++i)
      if (bytes[i] != bytes[0]) return -1;
    return bytes[0];
  }
  template <typename Holds>
  static bool eventually(Holds holds) {
    for (const Deadline end = soon(); Clock::now() < end; std::this_thread::sleep_for(1ms))
      if (holds()) return true;
    return false;
  }
  static void expect_balanced(const PublisherReport& report) {
    EXPECT_EQ(report.sent, report.returned + report.taken_back + report.lost + report.held);
  }

  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path(), path_ = folder_ + "/frames";
  Requirements wanted_;
  cpu::FramePool pool_{kInfo, Publisher::wanted(), 6};
};

TEST_F(IpcPublisher, GivesEveryFrameToAllInPlace) {
  Ledger ledger;
  PublisherOptions options = patient();
  options.waits = true;
  options.ledger = &ledger;
  options.policy = ZeroCopy::kRequire;
  options.stream = {kInfo, 25, true};
  Publisher publisher(path_, options);
  std::vector<std::jthread> readers;
  std::vector<std::vector<int>> seen(3);
  for (std::vector<int>& mine : seen) {
    readers.emplace_back([&] {
      Subscriber subscriber(path_, soon());
      EXPECT_EQ(subscriber.stream().info, kInfo);
      EXPECT_EQ(subscriber.stream().frames_per_second, 25);
      EXPECT_TRUE(subscriber.stream().is_live);
      EXPECT_EQ(subscriber.producer().pid, ::getpid());
      while (const std::optional<Frame> got = subscriber.read(soon())) mine.push_back(value_of(*got));
    });
  }
  ASSERT_TRUE(publisher.wait_for_subscribers(3, soon()));
  std::vector<int> expected;
  for (int i = 0; i < 200; ++i) {
    expected.push_back(i);
    ASSERT_EQ(publisher.publish(frame(i)), 3u);
  }
  EXPECT_TRUE(publisher.end(soon()));
  readers.clear();
  for (const std::vector<int>& mine : seen) EXPECT_EQ(mine, expected);
  EXPECT_EQ(ledger.total().copied, 0u);
  const PublisherReport report = publisher.report();
  EXPECT_EQ(report.returned, 600u);
  EXPECT_EQ(report.left_out + report.taken_back + report.lost + report.held + report.violations, 0u);
  expect_balanced(report);
}

TEST_F(IpcPublisher, LeavesASlowSubscriberOut) {
  PublisherOptions options = patient();
  options.max_held = 2;
  Publisher publisher(path_, options);
  Subscriber slow = subscriber(), good = subscriber();
  ASSERT_TRUE(publisher.wait_for_subscribers(2, soon()));
  std::vector<Frame> held;
  for (int i = 0; i < 5; ++i) {
    publisher.publish(frame(i));
    EXPECT_EQ(value_of(good.read(soon()).value()), i);
    ASSERT_TRUE(eventually([&] { return publisher.report().returned == static_cast<std::uint64_t>(i) + 1; }));
    if (i < 2) held.push_back(slow.read(soon()).value());
  }
  EXPECT_EQ(publisher.report().left_out, 3u);
  EXPECT_EQ(publisher.report().held, 2u);
  held.clear();
  EXPECT_TRUE(eventually([&] { return publisher.report().returned == 7; }));
  expect_balanced(publisher.report());
}

TEST_F(IpcPublisher, TakesBackWhatASubscriberHoldsForTooLong) {
  PublisherOptions options;
  options.patience = 300ms;
  Publisher publisher(path_, options);
  Subscriber slow = subscriber();
  ASSERT_TRUE(publisher.wait_for_subscribers(1, soon()));
  publisher.publish(frame(1));
  std::optional<Frame> held = slow.read(soon());
  ASSERT_TRUE(held);
  ASSERT_TRUE(eventually([&] { return publisher.report().taken_back == 1; }));
  EXPECT_EQ(publisher.report().subscribers, 0u);
  EXPECT_EQ(pool_.pool().idle(), pool_.pool().size()) << "slots are missing";
  try {
    (void)slow.read(soon());
    FAIL() << "it may read bytes of later frames";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable);
  }
  held.reset();  // Too late, and harmless.
  EXPECT_EQ(publisher.report().violations, 0u);
  expect_balanced(publisher.report());
  // Another reader is served. On a busy machine it may be too late as well, and comes again.
  for (const Deadline end = soon();;) {
    Subscriber good = subscriber();
    ASSERT_TRUE(publisher.wait_for_subscribers(1, soon()));
    publisher.publish(frame(9));
    try {
      EXPECT_EQ(value_of(good.read(soon()).value()), 9);
      break;
    } catch (const Error& error) {
      ASSERT_TRUE(error.code() == Code::kUnavailable && Clock::now() < end) << error.what();
    }
  }
}

TEST_F(IpcPublisher, WaitsForAReadersWork) {
  Publisher publisher(path_, patient());
  Subscriber one = subscriber();
  ASSERT_TRUE(publisher.wait_for_subscribers(1, soon()));
  const auto work = make_ref<HostTimeline>("a reader");
  publisher.publish(frame(1));
  TimelinePoint point;
  {
    const Frame got = one.read(soon()).value();
    point = work->next();
    got.plane(0).memory()->hazards().read_until(point);
  }
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(publisher.report().held, 1u) << "the reader's device still works on it";
  work->advance(point.value());
  EXPECT_TRUE(eventually([&] { return publisher.report().returned == 1; }));
}

TEST_F(IpcPublisher, WaitsForAReadersWorkOnlyUntilThePatience) {
  PublisherOptions options;
  options.patience = 1s;
  Publisher publisher(path_, options);
  Subscriber one = subscriber();
  ASSERT_TRUE(publisher.wait_for_subscribers(1, soon()));
  publisher.publish(frame(2));
  const auto work = make_ref<HostTimeline>("a reader");
  TimelinePoint point;
  {
    const Frame got = one.read(soon()).value();
    point = work->next();
    got.plane(0).memory()->hazards().read_until(point);
  }
  EXPECT_TRUE(eventually([&] { return publisher.report().taken_back == 1; })) << "a fence that is never reached";
  work->advance(point.value());
}

TEST_F(IpcPublisher, OutlivesSubscribersThatAreKilled) {
  PublisherOptions options = patient();
  options.waits = true;
  options.max_held = 4;
  for (int round = 0; round < 3; ++round) {
    // Forked before this process has threads of the publisher.
    tenon_test::PeerProcess dies([&](Link&) {
      Subscriber subscriber(path_, soon());
      std::vector<Frame> held;
      for (;;) held.push_back(subscriber.read(soon()).value());
    });
    tenon_test::PeerProcess lives([&](Link&) {
      Subscriber subscriber(path_, soon());
      int expected = 0;
      while (const std::optional<Frame> got = subscriber.read(soon()))
        if (value_of(*got) != expected++) throw std::runtime_error("another frame");
      if (expected != 100) throw std::runtime_error("frames are missing");
    });
    Publisher publisher(path_, options);
    ASSERT_TRUE(publisher.wait_for_subscribers(2, soon()));
    for (int i = 0; i < 100; ++i) {
      if (i == 4) dies.kill();
      publisher.publish(frame(i));
    }
    EXPECT_TRUE(publisher.end(soon()));
    EXPECT_EQ(lives.wait(), 0);
    ASSERT_TRUE(eventually([&] { return publisher.report().held == 0; }));
    EXPECT_EQ(publisher.report().lost, 4u) << "what the killed process held";
    EXPECT_EQ(publisher.report().violations, 0u);
    expect_balanced(publisher.report());
    EXPECT_EQ(pool_.pool().idle(), pool_.pool().size());
  }
}

TEST_F(IpcPublisher, IsMissedWhenItIsKilled) {
  tenon_test::PeerProcess producer([&](Link&) {
    Publisher publisher(path_, patient());
    publisher.wait_for_subscribers(1, soon());
    const Frame made = frame(5);
    for (;;) {
      publisher.publish(made);
      std::this_thread::sleep_for(1ms);
    }
  });
  Subscriber one = subscriber();
  const Frame held = one.read(soon()).value();
  producer.kill();
  EXPECT_THROW(
      {
        for (;;) (void)one.read(soon());
      },
      Error);
  EXPECT_EQ(value_of(held), 5) << "the memory stays as long as it is held";
  Publisher next(path_);  // The socket file that was left behind is replaced.
  Subscriber again = subscriber();
  EXPECT_TRUE(next.wait_for_subscribers(1, soon()));
}

TEST_F(IpcPublisher, DisconnectsLiars) {
  Publisher publisher(path_, patient());
  Subscriber good = subscriber();
  std::uint64_t lies = 0;
  const auto lie = [&](auto say) {
    const UniqueFd socket = detail::connect_to(path_);
    Link greeting(UniqueFd::duplicate(socket.get()));
    ASSERT_TRUE(greeting.send_hello({}));
    ASSERT_TRUE(publisher.wait_for_subscribers(2, soon()));
    say(socket.get());
    ++lies;
    EXPECT_TRUE(eventually([&] { return publisher.report().violations == lies; })) << lies;
    EXPECT_TRUE(eventually([&] { return publisher.report().subscribers == 1; }));
  };
  const auto send = [](int socket, const auto& message) {
    (void)::send(socket, &message, sizeof message, MSG_NOSIGNAL);
  };
  lie([&](int socket) { send(socket, "no message of this protocol"); });
  lie([&](int socket) {
    wire::Release release;  // For a frame that it does not have.
    release.header.kind = static_cast<std::uint16_t>(wire::Kind::kRelease);
    release.header.sequence = 7;
    send(socket, release);
  });
  lie([&](int socket) { send(socket, wire::Hello{{wire::kMagic, wire::kFirstVersion, 1, 0}}); });  // Greets twice.
  lie([&](int socket) { send(socket, wire::End{{wire::kMagic, wire::kFirstVersion, 5, 0}}); });
  lie([&](int socket) {
    publisher.publish(frame(1));  // It gives the same frame back twice.
    wire::Release release;
    release.header.kind = static_cast<std::uint16_t>(wire::Kind::kRelease);
    release.header.sequence = 1;
    send(socket, release);
    send(socket, release);
  });
  EXPECT_EQ(value_of(good.read(soon()).value()), 1);
  publisher.publish(frame(2));
  EXPECT_EQ(value_of(good.read(soon()).value()), 2) << "the good one is not disturbed";
}

/// Whatever the rights of the socket's file.
TEST_F(IpcPublisher, LetsNoProcessOfAnotherUserIn) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  for (const bool other_users : {false, true}) {
    tenon_test::PeerProcess other([&](Link& link) {
      (void)link.receive(soon());  // The publisher is there, and its socket open to all.
      if (::setuid(65534) != 0) throw std::runtime_error("no other user");
      Subscriber subscriber(path_, soon());
      subscriber.begin();
      if (value_of(subscriber.read(soon()).value()) != 1) throw std::runtime_error("another frame");
    });
    PublisherOptions options = patient();
    options.other_users = other_users;
    Publisher publisher(path_, options);
    ASSERT_EQ(::chmod(path_.c_str(), 0666), 0);
    ASSERT_TRUE(other.link.send_end());
    if (other_users) {
      ASSERT_TRUE(publisher.wait_for_subscribers(1, soon()));
      EXPECT_EQ(publisher.publish(frame(1)), 1u);
      EXPECT_EQ(other.wait(), 0);
    } else {
      EXPECT_EQ(other.wait(), 1) << "a process of another user was let in";
      EXPECT_TRUE(eventually([&] { return publisher.report().refused == 1; }));
      EXPECT_EQ(publisher.report().connected, 0u);
    }
  }
}

TEST_F(IpcPublisher, LetsNoReaderWrite) {
  Publisher publisher(path_, patient());
  Subscriber one = subscriber();
  ASSERT_TRUE(publisher.wait_for_subscribers(1, soon()));
  publisher.publish(frame(1));
  const Frame got = one.read(soon()).value();
  EXPECT_FALSE(got.plane(0).is_writable());
  EXPECT_NE(::write(fd(got.plane(0)), "x", 1), 1) << "the descriptor can be written to";
}

TEST_F(IpcPublisher, CopiesWhatHasNoDescriptorOnceAndBooksIt) {
  Ledger ledger;
  PublisherOptions options = patient();
  options.ledger = &ledger;
  Publisher publisher(path_, options);
  Subscriber one = subscriber(), two = subscriber();
  ASSERT_TRUE(publisher.wait_for_subscribers(2, soon()));
  const Frame plain = Frame::allocate(kInfo);
  std::memset(plain.plane(0).data(), 3, 64 * 48);
  EXPECT_EQ(publisher.publish(plain), 2u);
  EXPECT_EQ(ledger.total().copied, 64u * 48u);
  EXPECT_EQ(value_of(one.read(soon()).value()), 3);
  EXPECT_EQ(value_of(two.read(soon()).value()), 3);
  const Tensor tensor({element::f32, {4}, {}}, IpcMemory::allocate(context(), 64));
  EXPECT_EQ(publisher.publish(tensor), 2u);
  EXPECT_EQ(std::get<Tensor>(one.receive(soon()).value().what).info(), tensor.info());
  EXPECT_THROW((void)two.read(soon()), Error) << "a tensor is no frame";
}

TEST_F(IpcPublisher, ForbidsCopiesUnderRequire) {
  PublisherOptions options = patient();
  options.policy = ZeroCopy::kRequire;
  Publisher publisher(path_, options);
  EXPECT_THROW((void)publisher.publish(Frame::allocate(kInfo)), Error);
  EXPECT_THROW((void)publisher.publish(Frame()), Error);
}

TEST_F(IpcPublisher, HasABoundOfSubscribers) {
  PublisherOptions options = patient();
  options.max_subscribers = 2;
  Publisher publisher(path_, options);
  const UniqueFd silent = detail::connect_to(path_);
  Subscriber one = subscriber();
  ASSERT_TRUE(publisher.wait_for_subscribers(1, soon()));
  EXPECT_THROW((void)Subscriber(path_, Clock::now() + 1s), Error);
  EXPECT_EQ(publisher.report().refused, 1u);
  EXPECT_EQ(publisher.publish(frame(1)), 1u) << "nothing is sent before a greeting";
}

TEST_F(IpcPublisher, HasABoundOfSilence) {
  PublisherOptions options = patient();
  options.max_subscribers = 1;
  options.greeting = 300ms;
  Publisher publisher(path_, options);
  const UniqueFd silent = detail::connect_to(path_);
  EXPECT_TRUE(eventually([&] { return publisher.report().refused == 1; })) << "the silent one stays";
  // On a busy machine another one may be late with its greeting as well, and comes again.
  EXPECT_TRUE(eventually([&] {
    try {
      const Subscriber one = subscriber();
      return publisher.wait_for_subscribers(1, Clock::now() + 1s);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUnavailable) << error.what();
      return false;
    }
  }));
}

TEST_F(IpcPublisher, GivesEveryFrameToOneThatReadsLate) {
  constexpr int kFrames = 1000;  // More than the socket has room for.
  PublisherOptions options = patient();
  options.waits = true;
  options.max_held = kFrames;
  Publisher publisher(path_, options);
  Subscriber one = subscriber();
  ASSERT_TRUE(publisher.wait_for_subscribers(1, soon()));
  int got = 0;
  std::jthread reading([&] {
    std::this_thread::sleep_for(100ms);
    try {
      while (got < kFrames && one.read(soon())) ++got;
    } catch (const Error&) {
      // The count says that frames are missing.
    }
  });
  const Frame same = frame(1);
  for (int i = 0; i < kFrames; ++i) publisher.publish(same);
  reading.join();
  EXPECT_EQ(got, kFrames);
  EXPECT_EQ(publisher.report().left_out, 0u);
}

TEST_F(IpcPublisher, IsStoppedWhileItWaits) {
  std::stop_source stop;
  PublisherOptions options = patient();
  options.waits = true;
  options.max_held = 1;
  options.patience = 60s;
  options.stop = stop.get_token();
  Publisher publisher(path_, options);
  const Subscriber one = subscriber();
  ASSERT_TRUE(publisher.wait_for_subscribers(1, soon()));
  ASSERT_EQ(publisher.publish(frame(1)), 1u);
  const Deadline begin = Clock::now();
  const std::jthread stopping([&] {
    std::this_thread::sleep_for(50ms);
    stop.request_stop();
  });
  Code code = Code::kOk;
  try {
    (void)publisher.publish(frame(2));
  } catch (const Error& error) {
    code = error.code();
  }
  EXPECT_EQ(code, Code::kCancelled);
  EXPECT_FALSE(publisher.end(Clock::now() + 60s)) << "a frame is still held";
  EXPECT_LT(Clock::now() - begin, 10s) << "it waited for the patience";
}

/// How a subscriber sees that nothing comes any more.
enum class Seen : std::uint8_t { kNothing, kEnd, kDeath };
Seen end_seen_by(Subscriber& one) {
  try {
    while (one.read(Clock::now() + 30s)) {
    }
    return Seen::kEnd;
  } catch (const Error& error) {
    return error.code() == Code::kUnavailable ? Seen::kDeath : Seen::kNothing;
  }
}

TEST_F(IpcPublisher, TellsOfTheEndThroughASocketThatIsFull) {
  PublisherOptions options = patient();
  options.max_held = 2000;  // More than the socket has room for.
  Publisher publisher(path_, options);
  Subscriber late = subscriber();
  ASSERT_TRUE(publisher.wait_for_subscribers(1, soon()));
  const Frame same = frame(1);
  while (publisher.report().left_out == 0) publisher.publish(same);
  const std::jthread reading([&] {
    std::this_thread::sleep_for(200ms);
    EXPECT_EQ(end_seen_by(late), Seen::kEnd);
  });
  EXPECT_TRUE(publisher.end(soon()));
  EXPECT_EQ(publisher.report().held, 0u);
  expect_balanced(publisher.report());
}

TEST_F(IpcPublisher, DoesNotWaitForeverToTellOfTheEnd) {
  PublisherOptions options = patient();
  options.max_held = 2000;
  options.patience = 500ms;
  const Frame same = frame(1);
  bool was_told = true;
  for (int i = 0; i < 20 && was_told;
       ++i) {  // On a busy machine the patience may be over before the end: then once more.
    Publisher publisher(path_, options);
    Subscriber silent = subscriber();
    ASSERT_TRUE(publisher.wait_for_subscribers(1, soon()));
    while (publisher.report().left_out == 0 && publisher.report().subscribers == 1) publisher.publish(same);
    was_told = publisher.end(soon());
    EXPECT_EQ(publisher.report().subscribers, 0u);
    EXPECT_EQ(end_seen_by(silent), Seen::kDeath);
  }
  EXPECT_FALSE(was_told);
}

TEST_F(IpcPublisher, HasEndlessPatience) {
  PublisherOptions options = patient();
  options.patience = options.greeting = std::chrono::nanoseconds::max();
  Publisher publisher(path_, options);
  Subscriber one = subscriber();
  ASSERT_TRUE(publisher.wait_for_subscribers(1, soon()));
  ASSERT_EQ(publisher.publish(frame(1)), 1u);
  const auto held = one.read(soon());
  ASSERT_EQ(publisher.publish(frame(2)), 1u);
  EXPECT_EQ(value_of(*one.read(soon())), 2);
  EXPECT_EQ(publisher.report().taken_back, 0u);
}

}  // namespace publisher_test
}  // namespace tenon::ipc
