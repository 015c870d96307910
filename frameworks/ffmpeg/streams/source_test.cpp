// SPDX-License-Identifier: Apache-2.0
// Sources that are missing, broken, slow or lost.
#include <fcntl.h>
#include <unistd.h>

#include <tenon/frameworks/ffmpeg/video.hpp>

#include <fstream>
#include <map>
#include <span>
#include <thread>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/frameworks/ffmpeg/misread.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>

namespace source_test {

using tenon::Code;
using tenon::Error;
using tenon_test::ClipSpec;
using tenon_test::Folder;
namespace ff = tenon::ffmpeg;
using namespace std::chrono_literals;

class FfmpegSource : public testing::Test {
 protected:
  void SetUp() override {
    ff::silence_log();
    descriptors_ = tenon_test::open_descriptors();
  }
  void TearDown() override { EXPECT_EQ(tenon_test::open_descriptors(), descriptors_) << "descriptors leaked"; }

  /// Opens and reads to the end; returns what was thrown.
  static std::pair<Code, std::string> run(const std::string& name, ff::Options options = {},
                                          std::size_t* frames = nullptr) {
    try {
      ff::Video video = ff::open(name, std::move(options));
      while (video.read()) {
        if (frames) ++*frames;
      }
      return {Code::kOk, ""};
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(name)) << "names the thing";
      return {error.code(), error.what()};
    }
  }
  static std::string write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  Folder folder_;

 private:
  std::size_t descriptors_ = 0;
};

TEST_F(FfmpegSource, MissingFile) {
  const auto [code, text] = run(folder_.file("none.mp4"));
  EXPECT_EQ(code, Code::kNotFound);
  EXPECT_THAT(text, testing::HasSubstr("check the path"));
}

TEST_F(FfmpegSource, FolderEmptyFileAndNoName) {
  EXPECT_EQ(run(folder_.path().string()).first, Code::kInvalidArgument);
  EXPECT_EQ(run(write(folder_.file("empty.mp4"), "")).first, Code::kInvalidArgument);
  EXPECT_EQ(run("").first, Code::kInvalidArgument);
}

TEST_F(FfmpegSource, FilesThatAreNoVideos) {
  std::string noise;
  for (unsigned i = 0, state = 1; i < 100'000; ++i)
    noise += static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
  EXPECT_EQ(run(write(folder_.file("noise.mp4"), noise)).first, Code::kInvalidArgument);
  std::string text;
  for (int i = 0; i < 500; ++i) text += "This is not a video, it is line " + std::to_string(i) + ".\n";
  EXPECT_EQ(run(write(folder_.file("readme.txt"), text)).first, Code::kInvalidArgument)
      << "FFmpeg would draw it as ANSI art";
  EXPECT_EQ(run(write(folder_.file("model.xml"), "<?xml version=\"1.0\"?><net name=\"x\"></net>")).first,
            Code::kInvalidArgument);
  std::string start_codes = noise.substr(0, 400);
  for (const char code : {'\x00', '\x20', '\xb6'})
    start_codes += std::string("\0\0\1", 3) + code + noise.substr(0, 200);
  EXPECT_EQ(run(write(folder_.file("program"), start_codes + noise)).first, Code::kInvalidArgument)
      << "FFmpeg guesses raw MPEG-4, as in some programs";
}

TEST_F(FfmpegSource, AudioOnly) {
  // A WAV file of silence, written by hand.
  std::string wav("RIFF\x24\x08\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\0\x08\0\0",
                  44);
  wav += std::string(2048, '\x80');
  const auto [code, text] = run(write(folder_.file("sound.wav"), wav));
  EXPECT_EQ(code, Code::kInvalidArgument);
  EXPECT_THAT(text, testing::HasSubstr("no video"));
}

TEST_F(FfmpegSource, TruncatedFilesSayHowMuchThereWas) {
  ClipSpec spec;
  spec.frames = 100;
  for (const char* name : {"clip.mp4", "clip.mkv"}) {
    tenon_test::make_clip(folder_.file(name), spec, "g=25");
    std::size_t whole = 0;
    EXPECT_EQ(run(folder_.file(name), {}, &whole).first, Code::kOk);
    EXPECT_EQ(whole, 100u);
    std::filesystem::resize_file(folder_.file(name), std::filesystem::file_size(folder_.file(name)) / 2);
    std::size_t frames = 0;
    const auto [code, text] = run(folder_.file(name), {}, &frames);
    EXPECT_EQ(code, Code::kDataLoss) << name << ": " << text;
    EXPECT_THAT(text, testing::HasSubstr("truncated"));
    EXPECT_GT(frames, 30u) << "what is there is read";
    EXPECT_LT(frames, 70u);
  }
  // The last bytes of Matroska, which says how long the file is.
  tenon_test::make_clip(folder_.file("end.mkv"), spec, "g=25");
  std::filesystem::resize_file(folder_.file("end.mkv"), std::filesystem::file_size(folder_.file("end.mkv")) - 3);
  EXPECT_EQ(run(folder_.file("end.mkv")).first, Code::kDataLoss);
  // Cut inside the header.
  std::filesystem::resize_file(folder_.file("clip.mp4"), 200);
  EXPECT_EQ(run(folder_.file("clip.mp4")).first, Code::kInvalidArgument);
}

/// Recordings whose times are those of a camera's clock. FFmpeg itself says that such Matroska lasts for a day.
TEST_F(FfmpegSource, ARecordingThatBeginsLateIsWhole) {
  ClipSpec spec;
  spec.first = 25 * 86'400;
  for (const char* name : {"clip.mkv", "clip.mp4", "clip.ts", "clip.flv", "clip.nut"}) {
    SCOPED_TRACE(name);
    tenon_test::make_clip(folder_.file(name), spec, "bf=0");
    std::size_t frames = 0;
    const auto [code, text] = run(folder_.file(name), {}, &frames);
    EXPECT_EQ(code, Code::kOk) << text;
    EXPECT_EQ(frames, 40u);
    const auto count = ff::open(folder_.file(name)).frame_count();
    EXPECT_TRUE(!count || (*count >= 39 && *count <= 41)) << *count;
  }
}

/// The bytes of an MPEG-TS clip of 40 frames at 25 frames per second.
std::string ts_bytes(const Folder& folder, const std::string& options = "g=10:bf=0") {
  const std::string path = folder.file("piece.ts");
  tenon_test::make_clip(path, {}, options);
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::vector<std::int64_t> times_ms(const std::string& path) {
  std::vector<std::int64_t> times;
  ff::Video video = ff::open(path);
  while (const auto frame = video.read()) times.push_back((frame->timestamp_ns() + 500'000) / 1'000'000);
  return times;
}

void expect_steps_of_40_ms(const std::vector<std::int64_t>& times, std::size_t count) {
  ASSERT_EQ(times.size(), count);
  for (std::size_t i = 1; i < count; ++i) EXPECT_EQ(times[i] - times[i - 1], 40) << "frame " << i;
}

/// Moves the times of one picture of an MPEG-TS stream, as recorders do that set their clock.
std::string with_stray_time(std::string bytes, int picture, std::int64_t shift_90khz) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  int seen = 0;
  for (std::size_t packet = 0; packet + 188 <= bytes.size(); packet += 188) {
    if ((at(packet + 1) & 0x40) == 0 || ((at(packet + 1) & 31) << 8 | at(packet + 2)) != 256) continue;
    std::size_t pes = packet + 4;
    if (at(packet + 3) & 0x20) pes += 1u + at(packet + 4);
    if (seen++ != picture) continue;
    for (std::size_t field = pes + 9; field <= pes + (at(pes + 7) >> 6 == 3 ? 14u : 9u); field += 5) {
      std::int64_t time = std::int64_t{at(field) >> 1 & 7} << 30 | at(field + 1) << 22 | at(field + 2) >> 1 << 15 |
                          at(field + 3) << 7 | at(field + 4) >> 1;
      time += shift_90khz;
      bytes[field] = static_cast<char>((at(field) & 0xf0) | (time >> 30 & 7) << 1 | 1);
      bytes[field + 1] = static_cast<char>(time >> 22);
      bytes[field + 2] = static_cast<char>((time >> 15 & 127) << 1 | 1);
      bytes[field + 3] = static_cast<char>(time >> 7);
      bytes[field + 4] = static_cast<char>((time & 127) << 1 | 1);
    }
  }
  return bytes;
}

// FFmpeg's tools give such files the same length: `ffmpeg -i twice.ts out.mp4` makes 3.2 s of them.
TEST_F(FfmpegSource, RecordingsThatWereJoinedHaveOneLineOfTime) {
  for (const char* options : {"g=10:bf=0", "g=10:bf=2"}) {
    const std::string once = ts_bytes(folder_, options);
    expect_steps_of_40_ms(times_ms(write(folder_.file("twice.ts"), once + once)), 80);
  }
}

TEST_F(FfmpegSource, ASingleStrayTimeMovesNoOtherFrame) {
  const std::string once = ts_bytes(folder_);
  expect_steps_of_40_ms(times_ms(write(folder_.file("future.ts"), with_stray_time(once, 20, 9800 * 90'000))), 40);
  expect_steps_of_40_ms(times_ms(write(folder_.file("past.ts"), with_stray_time(once, 20, -90'000))), 40);
}

TEST_F(FfmpegSource, PiecesOfAPlaylistAreJoinedAtADiscontinuity) {
  const std::string once = ts_bytes(folder_);
  write(folder_.file("0.ts"), once);
  write(folder_.file("1.ts"), once);
  const std::string list =
      "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n#EXTINF:1.6,\n0.ts\n#EXT-X-DISCONTINUITY\n#EXTINF:1.6,\n1."
      "ts\n";
  expect_steps_of_40_ms(times_ms(write(folder_.file("list.m3u8"), list + "#EXT-X-ENDLIST\n")), 80);
  EXPECT_FALSE(ff::open(folder_.file("list.m3u8")).live());
  // Without an end, segments may be added at any time.
  EXPECT_TRUE(ff::open(write(folder_.file("growing.m3u8"), list)).live());
  EXPECT_TRUE(
      ff::open(write(folder_.file("event.m3u8"), "#EXTM3U\n#EXT-X-PLAYLIST-TYPE:EVENT\n" + list.substr(8))).live());
}

TEST_F(FfmpegSource, AListOfFilesElsewhereSaysWhatFfmpegWants) {
  tenon_test::make_clip(folder_.file("clip.mp4"));
  const std::string list = write(folder_.file("list.ffconcat"), "ffconcat version 1.0\nfile clip.mp4\nfile clip.mp4\n");
  std::size_t frames = 0;
  EXPECT_EQ(run(list, {}, &frames).first, Code::kOk);
  EXPECT_EQ(frames, 80u);
  write(list, "ffconcat version 1.0\nfile " + folder_.file("clip.mp4") + "\n");
  const auto [code, text] = run(list);
  EXPECT_EQ(code, Code::kInvalidArgument);
  EXPECT_THAT(text, testing::HasSubstr("safe=0"));
  ff::Options options;
  options.input["safe"] = "0";
  EXPECT_EQ(run(list, options).first, Code::kOk);
}

TEST_F(FfmpegSource, PacketsMissingWithinAStreamAreNoTruncation) {
  const std::string once = ts_bytes(folder_);
  const std::size_t middle = once.size() / 188 / 2 * 188;
  std::size_t frames = 0;
  EXPECT_EQ(run(write(folder_.file("gap.ts"), once.substr(0, middle) + once.substr(middle + 2 * 188)), {}, &frames),
            (std::pair<Code, std::string>{Code::kOk, ""}));
  EXPECT_GT(frames, 35u);
  EXPECT_EQ(run(write(folder_.file("twice.ts"), once + once)).first, Code::kOk) << "counters begin anew";
  EXPECT_EQ(run(write(folder_.file("joined.ts"), once.substr(90))).first, Code::kOk) << "it begins within a packet";
  const auto [code, text] = run(write(folder_.file("cut.ts"), once.substr(0, once.size() - 1017)));
  EXPECT_EQ(code, Code::kDataLoss);
  EXPECT_THAT(text, testing::HasSubstr("truncated"));
}

TEST_F(FfmpegSource, AnOpenThatIsToldToStopSaysSo) {
  tenon_test::make_clip(folder_.file("clip.mp4"));
  write(folder_.file("piece.ts"), ts_bytes(folder_));
  for (const char* name : {"clip.mp4", "piece.ts"}) {
    for (int us = 0; us < 6000; us += 60) {
      const auto flag = std::make_shared<std::atomic<bool>>(us == 0);
      ff::Options options;
      options.cancelled = flag;
      std::thread stopper([&] {
        std::this_thread::sleep_for(std::chrono::microseconds(us));
        *flag = true;
      });
      const auto [code, text] = run(folder_.file(name), options);
      stopper.join();
      EXPECT_TRUE(code == Code::kOk || code == Code::kCancelled) << text;
      ff::Options hasty;
      hasty.open_timeout = std::chrono::microseconds(us + 1);
      const auto [late, why] = run(folder_.file(name), hasty);
      EXPECT_TRUE(late == Code::kOk || late == Code::kDeadlineExceeded) << why;
    }
  }
}

TEST_F(FfmpegSource, EveryCutEndsInFramesOrAnError) {
  ClipSpec spec;
  spec.frames = 12;
  spec.width = spec.height = 64;
  tenon_test::make_clip(folder_.file("clip.mp4"), spec);
  std::string bytes;
  {
    std::ifstream in(folder_.file("clip.mp4"), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (std::size_t cut = 0; cut < bytes.size(); cut += bytes.size() / 61 + 1) {
    const auto [code, text] = run(write(folder_.file("cut.mp4"), bytes.substr(0, cut)));
    EXPECT_NE(code, Code::kOk) << "cut at " << cut << " of " << bytes.size();
    std::string damaged = bytes;
    for (std::size_t i = cut; i < std::min(cut + 8, damaged.size()); ++i) damaged[i] = static_cast<char>(~damaged[i]);
    run(write(folder_.file("damaged.mp4"), damaged));  // Any result but a crash or a hang.
  }
}

/// A grey TIFF of 16 x 16 zeros of this many bits, of one strip or tile. @param extra  One more tag with a 16-bit value; 0: none.
std::string tiff(std::uint16_t bits, std::uint16_t format, bool has_tiles, std::uint16_t extra = 0) {
  std::map<std::uint16_t, std::uint32_t> tags{{256, 16}, {257, 16}, {258, bits},  {259, 1},
                                              {262, 1},  {277, 1},  {339, format}};
  const std::uint32_t bytes = 16 * 16 * bits / 8;
  if (has_tiles)
    tags.merge(decltype(tags){{322, 16}, {323, 16}, {324, 8}, {325, bytes}});
  else
    tags.merge(decltype(tags){{273, 8}, {278, 16}, {279, bytes}});
  if (extra) tags[extra] = 1;
  std::string file("II*\0", 4);
  const auto put = [&](std::uint32_t value, int count) {
    for (int i = 0; i < count; ++i) file += static_cast<char>(value >> 8 * i);
  };
  put(8 + bytes, 4);
  file.append(bytes, '\0');
  put(static_cast<std::uint32_t>(tags.size()), 2);
  for (const auto& [tag, value] : tags) {
    put(tag, 2);
    put(4, 2);  // LONG, whose low half stands where a SHORT would.
    put(1, 4);
    put(value, 4);
  }
  put(0, 4);
  return file;
}

TEST_F(FfmpegSource, TiffsThatFfmpegTakesForOthersAreRefused) {
  const auto path = [&](const std::string& bytes) { return write(folder_.file("picture.tiff"), bytes); };
  for (const auto& [bytes, why] : {std::pair(tiff(8, 1, true), "in tiles"),
                                   {tiff(16, 1, true), "in tiles"},
                                   {tiff(8, 2, false), "signed"},
                                   {tiff(16, 2, false), "signed"},
                                   {tiff(16, 3, false), "16-bit reals"}}) {
    const auto [code, message] = run(path(bytes));
    EXPECT_EQ(code, Code::kUnimplemented) << message;
    EXPECT_THAT(message, testing::HasSubstr(why));
  }
  for (const std::uint16_t bits : {8, 16}) {
    std::size_t frames = 0;
    EXPECT_EQ(run(path(tiff(bits, 1, false)), {}, &frames).second, "");
    EXPECT_EQ(frames, 1u);
  }
  const std::string whole = tiff(16, 2, false);
  const auto why = [](const std::string& bytes) {
    return ff::detail::why_misread(AV_CODEC_ID_TIFF, std::as_bytes(std::span(bytes.data(), bytes.size())));
  };
  EXPECT_EQ(why(tiff(8, 1, true, 50706)), nullptr) << "a DNG";
  for (std::size_t length = 0; length <= whole.size(); ++length) why(whole.substr(0, length));
  EXPECT_NE(why(whole), nullptr);
}

TEST_F(FfmpegSource, UnknownFormatAndMisspeltOption) {
  tenon_test::make_clip(folder_.file("clip.mp4"));
  ff::Options options;
  options.format = "no-such-device";
  EXPECT_EQ(run(folder_.file("clip.mp4"), options).first, Code::kNotFound);
  options.format.clear();
  options.input["rtsp_transprot"] = "tcp";
  const auto [code, text] = run(folder_.file("clip.mp4"), options);
  EXPECT_EQ(code, Code::kInvalidArgument);
  EXPECT_THAT(text, testing::HasSubstr("rtsp_transprot"));
  ff::Options decoder;
  decoder.decoder["no_such"] = "1";
  try {
    ff::open(folder_.file("clip.mp4"), decoder);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
  }
}

TEST_F(FfmpegSource, AnAnimationThatFfmpegDoesNotDecodeIsNotCalledDamagedAlone) {
  ClipSpec spec;
  spec.codec = "libwebp_anim";
  spec.frames = 5;
  tenon_test::make_clip(folder_.file("clip.webp"), spec);
  std::size_t frames = 0;
  const auto [code, text] = run(folder_.file("clip.webp"), {}, &frames);
  if (code == Code::kOk) GTEST_SKIP() << "this FFmpeg decodes them: " << frames;
  EXPECT_THAT(text, testing::HasSubstr("of a kind that this FFmpeg does not decode"));
}

TEST_F(FfmpegSource, UnknownProtocolAndRefusedConnection) {
  EXPECT_EQ(run("nosuch://host/x").first, Code::kUnimplemented);
  EXPECT_EQ(run("http://127.0.0.1:1/x.mp4").first, Code::kUnavailable);
}

TEST_F(FfmpegSource, AMissingCameraIsAnError) {
  const auto [code, text] = run("/dev/video97");
  EXPECT_EQ(code, Code::kNotFound);
  ff::Options options;
  options.format = "v4l2";
  EXPECT_NE(run("/dev/null", options).first, Code::kOk);
}

/// A medium runs no script and loads no library, whatever its name says: that is asked for by the name of the demuxer.
TEST_F(FfmpegSource, ScriptsAreNoMedia) {
  ff::Options by_name;
  by_name.format = "lavfi";
  EXPECT_EQ(run("color=size=32x32:duration=1", by_name).first, Code::kOk);
  const std::string all = "," + ff::detail::demuxers_of_media() + ",";
  for (const char* script : {"avisynth", "vapoursynth", "lavfi"})
    EXPECT_EQ(all.find("," + std::string(script) + ","), std::string::npos) << script;
  for (const char* medium : {"matroska,webm", "mov,mp4,m4a", "mpegts", "hls", "concat", "rtsp", "image2", "wav"})
    EXPECT_NE(all.find("," + std::string(medium) + ","), std::string::npos) << medium;
  EXPECT_NE(run(write(folder_.file("clip.avs"), "LoadPlugin(\"evil.so\")\nVersion()\n")).first, Code::kOk);
  // The program's own list takes the place of ours, and holds for it, too.
  ff::Options options;
  options.input["format_whitelist"] = "matroska";
  tenon_test::make_clip(folder_.file("clip.mp4"), ClipSpec{});
  EXPECT_NE(run(folder_.file("clip.mp4"), options).first, Code::kOk);
  EXPECT_EQ(run(folder_.file("clip.mp4")).first, Code::kOk);
}

TEST_F(FfmpegSource, ACaptureDeviceIsReadWithoutBlocking) {
  // lavfi is a capture device of libavdevice that needs no hardware.
  ff::Options options;
  options.format = "lavfi";
  ff::Video video = ff::open("testsrc=size=160x120:rate=10:duration=1", options);
  EXPECT_TRUE(video.live());
  EXPECT_FALSE(video.frame_count());
  std::size_t frames = 0;
  for (const auto& frame : video) {
    EXPECT_EQ(frame.info().width_px, 160u);
    ++frames;
  }
  EXPECT_EQ(frames, 10u);
}

/// Serves the first `bytes` of `text` over HTTP to one client, then sends nothing until told to continue.
class StallingServer {
 public:
  static constexpr std::size_t kNoLength = SIZE_MAX;  ///< The answer states none, and ends with the connection.

  StallingServer(std::string text, std::size_t bytes, std::size_t announced = 0)
      : text_(std::move(text)),
        bytes_(bytes),
        length_(announced ? announced : text_.size()),
        listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    tenon_test::require(
        ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && ::listen(listener_, 4) == 0,
        "listen");
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~StallingServer() {
    stop_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/clip.ts"; }
  void resume() { resumed_ = true; }

 private:
  void serve() {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    char request[4096];
    (void)::recv(client, request, sizeof request, 0);  // Unread bytes would make close() send a reset.
    std::string head = "HTTP/1.0 200 OK\r\nContent-Type: application/octet-stream\r\n";
    if (length_ != kNoLength) head += "Content-Length: " + std::to_string(length_) + "\r\n";
    head += "\r\n";
    (void)::send(client, head.data(), head.size(), MSG_NOSIGNAL);
    std::size_t sent = 0;
    while (!stop_) {
      const std::size_t end = resumed_ ? text_.size() : std::min(bytes_, text_.size());
      if (sent < end) {
        const ssize_t n = ::send(client, text_.data() + sent, end - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0)
          sent += static_cast<std::size_t>(n);
        else if (n < 0 && errno != EAGAIN)
          break;
      } else if (resumed_) {
        break;
      }
      std::this_thread::sleep_for(1ms);
    }
    ::close(client);
  }

  std::string text_;
  std::size_t bytes_, length_;
  int listener_;
  unsigned port_ = 0;
  std::atomic<bool> stop_{false}, resumed_{false};
  std::thread thread_;
};

std::string stream_bytes(const Folder& folder) {
  ClipSpec spec;
  spec.frames = 400;
  spec.muxer = "mpegts";
  tenon_test::make_clip(folder.file("clip.ts"), spec, "g=25:bf=0:tune=zerolatency");
  std::ifstream in(folder.file("clip.ts"), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(FfmpegSource, AServerThatNeverAnswersEndsInTheDeadline) {
  StallingServer server("", 0, 1000);
  ff::Options options;
  options.open_timeout = 300ms;
  const auto begin = tenon::Clock::now();
  EXPECT_EQ(run(server.url(), options).first, Code::kDeadlineExceeded);
  EXPECT_LT(tenon::Clock::now() - begin, 30s);
}

TEST_F(FfmpegSource, AStalledStreamEndsInTheDeadlineAndCanGoOn) {
  const std::string bytes = stream_bytes(folder_);
  StallingServer server(bytes, bytes.size() / 2);
  ff::Options options;
  options.open_timeout = 60s;
  options.input["analyzeduration"] = "500000";
  ff::Video video = ff::open(server.url(), options);
  EXPECT_TRUE(video.live());
  std::size_t frames = 0;
  const auto begin = tenon::Clock::now();
  do {  // On a busy machine the first half, too, may come late.
    try {
      while (video.read(tenon::Clock::now() + 300ms)) ++frames;
      FAIL() << "ended after " << frames;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kDeadlineExceeded) << error.what();
    }
  } while (frames <= 100 && tenon::Clock::now() - begin < 60s);
  EXPECT_GT(frames, 100u);
  const auto last = tenon::Clock::now();
  EXPECT_THROW(video.read(last + 300ms), Error);
  EXPECT_LT(tenon::Clock::now() - last, 30s) << "its deadline, not that of the open";
  server.resume();
  while (video.read(tenon::Clock::now() + 60s)) ++frames;
  EXPECT_GT(frames, 390u) << "the same video goes on when the stream does";
}

TEST_F(FfmpegSource, ALostConnectionIsAnErrorAfterTheLastGoodFrame) {
  const std::string bytes = stream_bytes(folder_);
  StallingServer server(bytes, bytes.size(), bytes.size() * 2);
  server.resume();  // Sends the rest, then closes.
  std::size_t frames = 0;
  const auto [code, text] = run(server.url(), {}, &frames);
  EXPECT_EQ(code, Code::kUnavailable) << text;
  EXPECT_GT(frames, 395u) << "what the decoder held is not lost";
}

/// As of simple servers and of cameras: FFmpeg calls the end of such an answer a failure.
TEST_F(FfmpegSource, AnAnswerWithoutALengthEndsWithItsConnection) {
  for (const char* name : {"clip.ts", "clip.mkv", "clip.flv", "clip.nut", "clip.h264"}) {
    SCOPED_TRACE(name);
    ClipSpec spec;
    spec.frames = 60;
    tenon_test::make_clip(folder_.file(name), spec);
    std::ifstream in(folder_.file(name), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    StallingServer server(bytes, bytes.size(), StallingServer::kNoLength);
    server.resume();  // Sends all, then closes.
    std::size_t frames = 0;
    const auto [code, text] = run(server.url(), {}, &frames);
    EXPECT_EQ(code, Code::kOk) << text;
    EXPECT_EQ(frames, 60u);
  }
}

TEST_F(FfmpegSource, APipeWithoutAWriterEndsInTheDeadline) {
  const std::string pipe = folder_.file("pipe.ts");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  ff::Options options;
  options.open_timeout = 200ms;
  EXPECT_EQ(run(pipe, options).first, Code::kDeadlineExceeded);
  // With a decoder named, it is read as a stream.
  const std::string bytes = stream_bytes(folder_);
  std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << bytes; });
  ff::Options patient;
  std::size_t frames = 0;
  EXPECT_EQ(run(pipe, patient, &frames).first, Code::kOk);
  EXPECT_EQ(frames, 400u);
  writer.join();
}

}  // namespace source_test
