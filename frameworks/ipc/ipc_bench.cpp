// SPDX-License-Identifier: Apache-2.0
// Hand-over of a 1080p frame to another process and back: over a link, over a publisher, and beside them what else does it: a pipe that
// copies the bytes, and the bare packets without any frame.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <benchmark/benchmark.h>

#include <tenon/core/ledger.hpp>
#include <tenon/core/testing/allocation_count.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/cpu/posix/poll.hpp>
#include <tenon/frameworks/ipc/ipc.hpp>

#include <tenon/frameworks/ipc/testing/peer.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace {

using namespace tenon;
using namespace std::chrono_literals;

constexpr FrameInfo kInfo{kNv12, 1920, 1080};
constexpr std::size_t kBytes = 1920 * 1080 * 3 / 2;

/// Reports what a loop copied and allocated, each per frame.
class Counted {
 public:
  explicit Counted(benchmark::State& state)
      : state_(state),
        copied_(Ledger::process().total().copied),
        allocations_(tenon_test::allocations_of_this_thread()) {}
  ~Counted() {
    const auto rounds = static_cast<double>(std::max<std::int64_t>(state_.iterations(), 1));
    state_.counters["copied_bytes"] = static_cast<double>(Ledger::process().total().copied - copied_) / rounds;
    state_.counters["allocs"] = static_cast<double>(tenon_test::allocations_of_this_thread() - allocations_) / rounds;
  }

 private:
  benchmark::State& state_;
  std::uint64_t copied_;
  std::size_t allocations_;
};

/// The other process looks at one byte of each frame, and gives it back.
void look_at_frames(ipc::Link& link) {
  unsigned sum = 0;
  while (auto message = link.receive(Deadline::max())) {
    if (auto* arrived = std::get_if<ipc::Arrived>(&*message))
      sum += *static_cast<const unsigned char*>(std::get<Frame>(arrived->what).plane(0).data());
  }
  benchmark::DoNotOptimize(sum);
}

void send_and_wait(ipc::Link& link, const Frame& frame, std::uint64_t sequence) {
  if (!link.send(frame, sequence)) throw std::runtime_error("the socket is full");
  const auto message = link.receive(Clock::now() + 10s);
  if (!message || !std::holds_alternative<ipc::Returned>(*message)) throw std::runtime_error("it does not come back");
}

void RoundTrip(benchmark::State& state) {
  tenon_test::PeerProcess peer(look_at_frames);
  Requirements wanted = ipc::Publisher::wanted();
  wanted.pitch_alignment = 64;
  wanted.size_bytes = Frame::size_bytes_for(kInfo, wanted);
  std::vector<Frame> frames;  // As a pool's: handed over before, and used again.
  std::uint64_t sequence = 0;
  for (int i = 0; i < 4; ++i) {
    frames.push_back(Frame::over(kInfo, ipc::context()->allocate(wanted), wanted));
    std::memset(frames.back().plane(0).data(), i, kBytes);
    send_and_wait(peer.link, frames.back(), ++sequence);
  }
  const Counted counted(state);
  for (auto _ : state) {
    send_and_wait(peer.link, frames[sequence % frames.size()], sequence);
    ++sequence;
  }
}
BENCHMARK(RoundTrip)->Name("Ipc/link/1080p_nv12")->UseRealTime()->Unit(benchmark::kMicrosecond);

/// Gives each frame back while it still reads it. Forked before this process has threads: points are relayed by one.
tenon_test::PeerProcess& reader_with_fences() {
  static tenon_test::PeerProcess peer([](ipc::Link& link) {
    const auto timeline = make_ref<HostTimeline>("a reader");
    while (auto message = link.receive(Deadline::max())) {
      auto* const arrived = std::get_if<ipc::Arrived>(&*message);
      if (!arrived) continue;
      Frame frame = std::get<Frame>(std::exchange(arrived->what, Frame()));
      const Ref<Memory> memory = frame.plane(0).memory();
      memory->wait_for(Access::kRead, Clock::now() + 10s);
      const TimelinePoint read = timeline->next();
      memory->hazards().read_until(read);
      frame = {};
      timeline->advance(read.value());
    }
  });
  return peer;
}
[[maybe_unused]] const auto& forked = reader_with_fences();

/// With a fence each way: the frame is still written when it is sent, and still read when it goes back.
void RoundTripFences(benchmark::State& state) {
  tenon_test::PeerProcess& peer = reader_with_fences();
  Requirements wanted;
  wanted.pitch_alignment = 64;
  wanted.size_bytes = Frame::size_bytes_for(kInfo, wanted);
  const Frame frame = Frame::over(kInfo, ipc::context()->allocate(wanted), wanted);
  std::memset(frame.plane(0).data(), 1, kBytes);
  const auto timeline = make_ref<HostTimeline>("a writer");
  std::uint64_t sequence = 0;
  const Counted counted(state);
  for (auto _ : state) {
    const TimelinePoint written = timeline->next();
    frame.plane(0).memory()->hazards().wrote(written);
    if (!peer.link.send(frame, ++sequence)) throw std::runtime_error("the socket is full");
    timeline->advance(written.value());
    const auto message = peer.link.receive(Clock::now() + 10s);
    const auto& returned = std::get<ipc::Returned>(message.value());
    for (const ipc::UniqueFd& fence : returned.fences) (void)cpu::poll_until(Clock::now() + 10s, fence.get(), POLLIN);
  }
}
BENCHMARK(RoundTripFences)->Name("Ipc/link/1080p_nv12/fences")->UseRealTime()->Unit(benchmark::kMicrosecond);

void Published(benchmark::State& state) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "frames";
  {
    tenon_test::PeerProcess reader([&](ipc::Link&) {
      ipc::Subscriber subscriber(path, Clock::now() + 10s);
      while (const auto frame = subscriber.read(Clock::now() + 60s)) benchmark::DoNotOptimize(frame->plane(0).data());
    });
    ipc::PublisherOptions options;
    options.max_held = 1;
    options.waits = true;
    options.policy = ZeroCopy::kRequire;
    ipc::Publisher publisher(path, options);
    publisher.wait_for_subscribers(1, Clock::now() + 10s);
    cpu::FramePool pool(kInfo, ipc::Publisher::wanted(), 4);
    for (int i = 0; i < 8; ++i) publisher.publish(pool.acquire());
    const Counted counted(state);
    for (auto _ : state) publisher.publish(pool.acquire());  // Waits until the frame before came back.
    (void)publisher.end(Clock::now() + 10s);
  }
}
BENCHMARK(Published)->Name("Ipc/publisher/1080p_nv12")->UseRealTime()->Unit(benchmark::kMicrosecond);

/// The bound: two packets of the same sizes, without frames and descriptors.
void Packets(benchmark::State& state) {
  auto ends = ipc::detail::socket_pair();
  tenon_test::PeerProcess peer([&](ipc::Link&) {
    ends.first.reset();
    ipc::detail::Packet packet;
    const ipc::wire::Release release;
    for (;;) {
      (void)cpu::poll_until(Deadline::max(), ends.second.get(), POLLIN);
      const auto got = ipc::detail::take(ends.second.get(), packet);
      if (got == ipc::detail::Got::kClosed) return;
      if (got == ipc::detail::Got::kPacket)
        (void)ipc::detail::put(ends.second.get(), std::as_bytes(std::span(&release, 1)), {});
    }
  });
  ends.second.reset();
  ipc::detail::Packet packet;
  const ipc::wire::Frame message;
  for (auto _ : state) {
    (void)ipc::detail::put(ends.first.get(), std::as_bytes(std::span(&message, 1)), {});
    do (void)cpu::poll_until(Clock::now() + 10s, ends.first.get(), POLLIN);
    while (ipc::detail::take(ends.first.get(), packet) != ipc::detail::Got::kPacket);
  }
  ends.first.reset();
}
BENCHMARK(Packets)->Name("Ipc/floor/two_packets")->UseRealTime()->Unit(benchmark::kMicrosecond);

void write_all(int fd, const std::byte* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t done = ::write(fd, bytes, size);
    if (done <= 0) throw std::runtime_error("the pipe is closed");
    bytes += done, size -= static_cast<std::size_t>(done);
  }
}
bool read_all(int fd, std::byte* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t done = ::read(fd, bytes, size);
    if (done <= 0) return false;
    bytes += done, size -= static_cast<std::size_t>(done);
  }
  return true;
}

/// The usual way without shared memory: the bytes go through a pipe, and a byte comes back.
void PipeWithCopies(benchmark::State& state) {
  int there[2], back[2];
  if (::pipe2(there, O_CLOEXEC) != 0 || ::pipe2(back, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  (void)::fcntl(there[1], F_SETPIPE_SZ, 1 << 20);
  {
    tenon_test::PeerProcess peer([&](ipc::Link&) {
      ::close(there[1]);
      std::vector<std::byte> frame(kBytes);
      while (read_all(there[0], frame.data(), frame.size())) write_all(back[1], frame.data(), 1);
    });
    ::close(there[0]);
    const std::vector<std::byte> frame(kBytes, std::byte{1});
    std::byte answer{};
    for (auto _ : state) {
      write_all(there[1], frame.data(), frame.size());
      if (!read_all(back[0], &answer, 1)) throw std::runtime_error("no answer");
    }
    state.counters["copied_bytes"] = 2.0 * kBytes;
    ::close(there[1]);
    ::close(back[0]);
    ::close(back[1]);
  }
}
BENCHMARK(PipeWithCopies)->Name("Ipc/pipe_with_copies/1080p_nv12")->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
