// SPDX-License-Identifier: Apache-2.0
// Clips for the soak, and the ways in which they are damaged.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/fd.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>

namespace tenon::media_soak {

using Bytes = std::vector<std::uint8_t>;

inline Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}
inline std::string write_file(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return path;
}

/// A whole file, and streams that change size, in two containers.
struct Material {
  Material() {
    tenon_test::make_clip(whole, {.width = 320, .height = 180, .frames = 20});
    int number = 0;
    for (const auto& [width, height] : {std::pair{320, 180}, std::pair{176, 144}, std::pair{640, 360}}) {
      const std::string part = folder.file("part" + std::to_string(number++));
      const tenon_test::ClipSpec spec{.width = width, .height = height, .frames = 8};
      tenon_test::make_clip(part + ".h264", spec, "bf=0");
      tenon_test::make_clip(part + ".ts", spec);
      for (auto& [all, extension] : {std::pair<Bytes&, const char*>{units, ".h264"}, {packets, ".ts"}}) {
        const Bytes bytes = read_file(part + extension);
        all.insert(all.end(), bytes.begin(), bytes.end());
      }
    }
  }
  const tenon_test::Folder folder;
  const std::string whole = folder.file("whole.mp4");
  Bytes units;    ///< H.264 with start codes.
  Bytes packets;  ///< An MPEG transport stream.
};

inline constexpr std::size_t kPacketBytes = 188;

/// Some packets are lost.
inline Bytes lose(const Bytes& packets, std::mt19937& random) {
  Bytes left;
  for (std::size_t at = 0; at + kPacketBytes <= packets.size(); at += kPacketBytes) {
    if (random() % 50 != 0)
      left.insert(left.end(), packets.begin() + static_cast<std::ptrdiff_t>(at),
                  packets.begin() + static_cast<std::ptrdiff_t>(at + kPacketBytes));
  }
  return left;
}

/// Damages slices, drops some, and cuts the end off at times. No start code arises: a damaged parameter set would try libavcodec's
/// software decoders, which crash on surfaces that they are given.
inline Bytes damage(const Bytes& units, std::mt19937& random) {
  constexpr std::uint8_t kStart[] = {0, 0, 1};
  constexpr std::size_t kKept = 8;
  Bytes made;
  for (auto at = units.begin(); at != units.end();) {
    const auto next = std::search(at + 3, units.end(), std::begin(kStart), std::end(kStart));
    Bytes unit(at, next);
    at = next;
    const int type = unit.size() > 3 ? unit[3] & 31 : 0;
    const bool is_slice = (type == 1 || type == 5) && unit.size() > 4 * kKept;
    const unsigned luck = static_cast<unsigned>(random() % 8);
    if (is_slice && luck == 0) continue;
    if (is_slice && luck < 3) {
      for (unsigned i = 1 + random() % 5; i > 0; --i)
        unit[kKept + random() % (unit.size() - kKept)] = static_cast<std::uint8_t>((random() & 127) | 4);
    }
    made.insert(made.end(), unit.begin(), unit.end());
  }
  if (random() % 4 == 0) made.resize(made.size() - random() % (made.size() / 4));
  return made;
}

/// Writes bytes into a FIFO while it is read, as a sender does; ends when the reader goes.
class Sender {
 public:
  Sender(const std::string& path, Bytes bytes) : path_(path), bytes_(std::move(bytes)) {
    ::unlink(path.c_str());
    tenon_test::require(::mkfifo(path.c_str(), 0600) == 0, "mkfifo");
    thread_ = std::thread([this] { send(); });
  }
  ~Sender() {
    stops_ = true;
    thread_.join();
    ::unlink(path_.c_str());
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

 private:
  void send() {
    UniqueFd fifo;
    while (!fifo && !stops_) {
      fifo.reset(::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
      if (!fifo) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // No reader yet.
    }
    for (std::size_t sent = 0; sent < bytes_.size() && !stops_;) {
      const ssize_t count = ::write(fifo.get(), bytes_.data() + sent, bytes_.size() - sent);
      if (count > 0) sent += static_cast<std::size_t>(count);
      if (count < 0 && errno != EAGAIN) return;
      pollfd room{fifo.get(), POLLOUT, 0};
      if (count < 0) ::poll(&room, 1, 10);
    }
  }

  const std::string path_;
  const Bytes bytes_;
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

}  // namespace tenon::media_soak
