// SPDX-License-Identifier: Apache-2.0
// One process that reads pictures from every source, again and again: files, streams that change size, lose packets and are
// damaged, GStreamer's pipelines, the VA driver; opened, left in the middle and opened again. Once it is warm, nothing may grow.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <string>

#include <tenon/bridges/ffmpeg_vaapi/ffmpeg_vaapi.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/cpu/cpu.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/gstreamer/gstreamer.hpp>
#include <tenon/frameworks/gstreamer/launch.hpp>
#include <tenon/frameworks/vaapi/vaapi.hpp>
#include <tenon/tests/media_soak/held.hpp>
#include <tenon/tests/media_soak/material.hpp>

namespace tenon::media_soak {
namespace media_soak_test {

namespace ff = tenon::ffmpeg;
namespace gs = tenon::gstreamer;

/// Takes pictures as a program does: maps each to the host, holds the last few.
class Consumer {
 public:
  Consumer() {
    for (const Context& known : {host_context(), dmabuf::context(), gs::context()}) router_.add(known);
  }
  void add(const Context& context) { router_.add(context); }
  void take(const Frame& frame) {
    kept_.push_back(router_.map(frame, host_context()));
    if (kept_.size() > 4) kept_.pop_front();
    ++count_;
  }
  std::size_t count() const { return count_; }

 private:
  Router router_;
  std::deque<Frame> kept_;
  std::size_t count_ = 0;
};

/// Reads on after what is damaged, as far as the source lets. Its errors are expected; others are not caught.
void read_all(const std::string& name, const ff::Options& options, bool uses_pool, Consumer& consumer,
              std::size_t most = SIZE_MAX) {
  try {
    ff::Video video(name, options);
    if (uses_pool) video.use_pool({}, {}, 32);
    for (std::size_t i = 0; i < most; ++i) {
      const std::optional<Frame> frame = video.read();
      if (!frame) return;
      consumer.take(*frame);
    }
  } catch (const Error&) {
  }
}

ff::Options software() {
  ff::Options options;
  options.threads = 2;
  options.open_timeout = options.read_timeout = std::chrono::seconds(10);
  return options;
}

using Scene = std::size_t (*)(const Material&, std::mt19937&);

std::size_t file(const Material& given, std::mt19937& random) {
  Consumer consumer;
  read_all(given.whole, software(), true, consumer);
  read_all(given.whole, software(), false, consumer, 1 + random() % 10);  // Left in the middle.
  read_all(given.folder.file("none.mp4"), software(), false, consumer);
  return consumer.count();
}

std::size_t changing_sizes(const Material& given, std::mt19937&) {
  Consumer consumer;
  read_all(write_file(given.folder.file("sizes.h264"), given.units), software(), true, consumer);
  return consumer.count();
}

std::size_t damaged(const Material& given, std::mt19937& random) {
  Consumer consumer;
  read_all(write_file(given.folder.file("damaged.h264"), damage(given.units, random)), software(), random() % 2,
           consumer);
  return consumer.count();
}

std::size_t live_stream(const Material& given, std::mt19937& random) {
  Consumer consumer;
  const std::string fifo = given.folder.file("fifo");
  const Sender sender(fifo, lose(given.packets, random));
  read_all(fifo, software(), true, consumer, random() % 3 ? SIZE_MAX : 4);
  return consumer.count();
}

void pull(const std::string& line, Consumer& consumer, std::size_t most) {
  try {
    gs::PoolOptions pool;
    gs::LaunchedSource source(line, pool);
    gs::CapsCache cache;
    for (std::size_t i = 0; i < most; ++i) {
      const gs::SamplePtr sample = source.pull(Clock::now() + std::chrono::seconds(10));
      if (!sample) return;
      consumer.take(gs::wrap(sample.get(), cache));
    }
  } catch (const Error&) {
  }
}

std::size_t launched(const Material&, std::mt19937& random) {
  Consumer consumer;
  for (const char* size : {"width=320,height=180", "width=176,height=144"})
    pull("videotestsrc num-buffers=20 ! video/x-raw,format=NV12," + std::string(size), consumer, 5 + random() % 20);
  return consumer.count();
}

std::size_t launched_on_va(const Material& given, std::mt19937& random) {
  Consumer consumer;
  const std::string file = given.folder.file("launched.h264");
  for (const Bytes& bytes : {given.units, damage(given.units, random)})
    pull("filesrc location=" + write_file(file, bytes) + " ! h264parse ! vah264dec", consumer, 10 + random() % 20);
  return consumer.count();
}

std::size_t on_va(const Material& given, std::mt19937& random) {
  const Context display = vaapi::open();  // Closed again with the last frame.
  Consumer consumer;
  consumer.add(display);
  ff::Options options = software();
  options.hardware = ffmpeg_vaapi::device(display);
  options.take_hardware = ffmpeg_vaapi::surfaces(display);
  read_all(given.whole, options, false, consumer, 5 + random() % 20);
  for (const Bytes& bytes : {given.units, damage(given.units, random)})
    read_all(write_file(given.folder.file("va.h264"), bytes), options, false, consumer);
  return consumer.count();
}

bool has_element(const char* name) {
  gs::start();
  return gs::ObjectPtr<GstElementFactory>(gst_element_factory_find(name)) != nullptr;
}

/// Calls round(number) for as long as the soak is to last. @return what was held when it was warm, and at the end
std::pair<Held, Held> soak(double seconds, const std::function<void(unsigned)>& round) {
  constexpr unsigned kFewest = 6;
  const auto passed = [start = Clock::now()] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  Held warm;
  unsigned number = 0;
  for (; number < kFewest / 2 || passed() < seconds / 4; ++number) {
    round(number);
    warm = most(warm, held());
  }
  const unsigned rounds_when_warm = number;
  Held last;
  for (; number < kFewest || passed() < seconds; ++number) {
    round(number);
    last = held();
  }
  std::cout << number << " rounds, " << rounds_when_warm << " to get warm: " << warm << "; at the end " << last
            << std::endl;
  return {warm, last};
}

TEST(MediaSoak, NothingGrows) {
  std::signal(SIGPIPE, SIG_IGN);
  ff::silence_log();
  const char* wanted = std::getenv("TENON_MEDIA_SOAK");
  const double seconds = wanted ? std::atof(wanted) : 5;
  std::map<std::string, Scene> scenes{{"file", file},         {"changing sizes", changing_sizes},
                                      {"damaged", damaged},   {"live stream", live_stream},
                                      {"launched", launched}, {"on VA", on_va}};
  if (has_element("vah264dec") && has_element("h264parse")) scenes["launched on VA"] = launched_on_va;
  const Material material;
  std::map<std::string, std::size_t> frames;
  const auto [warm, last] = soak(seconds, [&](unsigned number) {
    std::mt19937 random(number);
    for (const auto& [name, scene] : scenes) frames[name] += scene(material, random);
  });
  for (const auto& [name, scene] : scenes) {
    std::cout << name << ": " << frames[name] << " frames" << std::endl;
    EXPECT_GT(frames[name], 20u) << name;
  }
  constexpr std::size_t kMiB = 1 << 20, kPooledThreads = 2;  // GLib keeps so many for the next pipeline.
  const bool is_long = seconds >= 60;                        // Fragmentation settles within some rounds.
  EXPECT_LE(last.resident, warm.resident + (is_long ? 4 : 32) * kMiB);
  EXPECT_LE(last.heap, warm.heap + (is_long ? 1 : 4) * kMiB);
  EXPECT_LE(last.descriptors, warm.descriptors);
  EXPECT_LE(last.threads, warm.threads + kPooledThreads);
  EXPECT_LE(last.mappings, warm.mappings);
}

}  // namespace media_soak_test
}  // namespace tenon::media_soak
