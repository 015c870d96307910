// SPDX-License-Identifier: Apache-2.0
// Hand-over of a 1080p picture from one node to another through a daemon of this program's own: from publish() to the return of read(), with the
// reader asleep before. ipc_bench has the same over a socket.
#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include <tenon/core/ledger.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/pipewire/pipewire.hpp>

#include <tenon/frameworks/pipewire/testing/daemon.hpp>

namespace {

using namespace tenon;
using namespace std::chrono_literals;

constexpr FrameInfo kInfo{kNv12, 1920, 1080};

void HandOver(benchmark::State& state) {
  if (const std::string why = tenon_test::Daemon::why_none(); !why.empty()) {
    state.SkipWithError(why.c_str());
    return;
  }
  tenon_test::Daemon daemon;
  Ledger ledger;
  pipewire::OutputOptions options;
  options.waits = true;
  options.ledger = &ledger;
  pipewire::Output output("bench", options, Clock::now() + 30s);
  cpu::FramePool pool(kInfo, pipewire::Output::wanted(), 6);
  {
    std::vector<Frame> all;
    for (int i = 0; i < 6; ++i) {
      all.push_back(pool.acquire());
      std::memset(all.back().plane(0).data(), i, 1920 * 1080);
      (void)output.publish(all.back());
    }
  }
  std::atomic<std::int64_t> arrived{0};
  std::jthread reader([&](const std::stop_token& stop) {
    pipewire::InputOptions reading;
    reading.stop = stop;
    try {
      pipewire::Input input("bench", reading, Clock::now() + 30s);
      while (const auto frame = input.read(Deadline::max())) {
        benchmark::DoNotOptimize(*static_cast<const volatile unsigned char*>(frame->plane(0).data()));
        arrived = frame->timestamp_ns();
        arrived.notify_one();
      }
    } catch (const Error&) {  // The end.
    }
  });
  if (!output.wait_for_reader(Clock::now() + 30s)) throw std::runtime_error("no reader");
  std::int64_t number = 0;
  const auto send = [&] {
    Frame frame = pool.acquire();
    frame.set_timestamp_ns(++number);
    if (!output.publish(frame)) throw std::runtime_error("not sent");
    for (std::int64_t seen = arrived; seen != number; seen = arrived) arrived.wait(seen);
  };
  for (int i = 0; i < 20; ++i) send();
  const std::uint64_t copied = ledger.total().copied;
  for (auto _ : state) send();
  state.counters["copied_bytes"] = static_cast<double>(ledger.total().copied - copied) /
                                   static_cast<double>(std::max<std::int64_t>(state.iterations(), 1));
}
BENCHMARK(HandOver)->Name("PipeWire/one_way/1080p_nv12")->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
