// SPDX-License-Identifier: Apache-2.0
// Damaged streams through libavcodec's VA-API decoders, and valid streams whose buffers are damaged before they reach
// the driver. Nothing may crash, hang or leak, and afterwards an undamaged stream decodes as before.
#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <va/va.h>
#include <va/va_backend.h>

#include <tenon/drivers/vaapi/fuzz/watch.hpp>
#include <tenon/drivers/vaapi/testing/client.hpp>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/hwcontext.h>
#include <libavutil/hwcontext_vaapi.h>
}

/// libx265 keeps some of its frame filters.
extern "C" const char* __lsan_default_suppressions() { return "leak:libx265.so\n"; }

namespace tenon::va::test {
namespace {

struct Free {
  void operator()(AVCodecContext* context) const { avcodec_free_context(&context); }
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  void operator()(AVBufferRef* buffer) const { av_buffer_unref(&buffer); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

struct Codec {
  const char *encoder, *decoder, *options;
  AVPixelFormat pixels;
};
constexpr Codec kCodecs[] = {
    {"libx264", "h264", "preset=veryfast:bf=2", AV_PIX_FMT_YUV420P},
    {"libx265", "hevc", "preset=ultrafast:x265-params=log-level=none,info=0", AV_PIX_FMT_YUV420P},
    {"libvpx-vp9", "vp9", "deadline=realtime:cpu-used=8", AV_PIX_FMT_YUV420P},
    {"libaom-av1", "av1", "cpu-used=8:usage=realtime", AV_PIX_FMT_YUV420P},
    {"mjpeg", "mjpeg", "", AV_PIX_FMT_YUVJ420P},
};

using Bytes = std::vector<std::uint8_t>;
struct Stream {
  Bytes headers;  ///< The bytes before the first packet (extradata).
  std::vector<Bytes> packets;
};

/// Sixteen pictures of 128 x 96. Empty if libavcodec has no such encoder.
Stream encode(const Codec& codec) {
  Stream stream;
  const AVCodec* encoder = avcodec_find_encoder_by_name(codec.encoder);
  if (!encoder) return stream;
  const Owned<AVCodecContext> context(avcodec_alloc_context3(encoder));
  context->width = 128;
  context->height = 96;
  context->pix_fmt = codec.pixels;
  context->time_base = {1, 25};
  context->gop_size = 8;
  context->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;  // Packets then hold slices alone.
  context->thread_count = 1;
  context->log_level_offset = 64;
  AVDictionary* options = nullptr;
  av_dict_parse_string(&options, codec.options, "=", ":", 0);
  const int opened = avcodec_open2(context.get(), encoder, &options);
  av_dict_free(&options);
  if (opened < 0) return stream;
  if (context->extradata_size > 0)
    stream.headers.assign(context->extradata, context->extradata + context->extradata_size);
  const Owned<AVFrame> frame(av_frame_alloc());
  const Owned<AVPacket> packet(av_packet_alloc());
  std::mt19937 random(3);
  for (int number = 0; number <= 16; ++number) {
    frame->format = codec.pixels;
    frame->width = context->width;
    frame->height = context->height;
    frame->pts = number;
    av_frame_get_buffer(frame.get(), 0);
    for (int plane = 0; plane < 3; ++plane) {
      for (int i = 0; i < frame->linesize[plane] * (plane ? 48 : 96); ++i)
        frame->data[plane][i] = static_cast<std::uint8_t>(i / 5 + number * 7 + static_cast<int>(random() % 8));
    }
    avcodec_send_frame(context.get(), number < 16 ? frame.get() : nullptr);
    av_frame_unref(frame.get());
    while (avcodec_receive_packet(context.get(), packet.get()) >= 0) {
      stream.packets.emplace_back(packet->data, packet->data + packet->size);
      av_packet_unref(packet.get());
    }
  }
  return stream;
}

/// Damages bytes on their way into the driver's buffers.
class Damage {
 public:
  static void install(VADisplay display, std::mt19937* random) {
    VADriverVTable& table = *static_cast<VADisplayContextP>(display)->pDriverContext->vtable;
    if (table.vaCreateBuffer != create) real_ = table.vaCreateBuffer;
    table.vaCreateBuffer = create;
    random_ = random;
  }
  static void stop() { random_ = nullptr; }

 private:
  static VAStatus create(VADriverContextP driver, VAContextID context, VABufferType type, unsigned size, unsigned count,
                         void* data, VABufferID* id) {
    std::vector<std::uint8_t> bytes;
    if (random_ && data && (*random_)() % 3 == 0) {
      const auto* given = static_cast<const std::uint8_t*>(data);
      bytes.assign(given, given + std::size_t{size} * count);
      for (unsigned i = (*random_)() % 4; i > 0; --i)
        bytes[(*random_)() % bytes.size()] = static_cast<std::uint8_t>((*random_)());
      data = bytes.data();
      if (count == 1 && (*random_)() % 16 == 0) size = 1 + static_cast<unsigned>((*random_)()) % size;
    }
    return real_(driver, context, type, size, count, data, id);
  }
  static inline VAStatus (*real_)(VADriverContextP, VAContextID, VABufferType, unsigned, unsigned, void*,
                                  VABufferID*) = nullptr;
  static inline std::mt19937* random_ = nullptr;
};

AVPixelFormat choose_surfaces(AVCodecContext*, const AVPixelFormat* formats) {
  for (; *formats != AV_PIX_FMT_NONE; ++formats)
    if (*formats == AV_PIX_FMT_VAAPI) return *formats;
  return AV_PIX_FMT_NONE;
}

/// @return The number of frames that were downloaded from surfaces.
int decode(const Codec& codec, const Stream& stream, AVBufferRef* device) {
  const Owned<AVCodecContext> context(avcodec_alloc_context3(avcodec_find_decoder_by_name(codec.decoder)));
  context->hw_device_ctx = av_buffer_ref(device);
  context->get_format = choose_surfaces;
  context->thread_count = 1;
  context->width = 128;
  context->height = 96;
  context->log_level_offset = 64;
  context->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
  context->extradata = static_cast<std::uint8_t*>(av_mallocz(stream.headers.size() + AV_INPUT_BUFFER_PADDING_SIZE));
  if (!context->extradata) return -1;
  context->extradata_size = static_cast<int>(stream.headers.size());
  std::copy(stream.headers.begin(), stream.headers.end(), context->extradata);
  const auto& packets = stream.packets;
  if (avcodec_open2(context.get(), nullptr, nullptr) < 0) return -1;
  const Owned<AVFrame> frame(av_frame_alloc()), plain(av_frame_alloc());
  const Owned<AVPacket> packet(av_packet_alloc());
  int count = 0;
  for (std::size_t i = 0; i <= packets.size(); ++i) {
    if (i < packets.size()) {
      if (packets[i].empty() || av_new_packet(packet.get(), static_cast<int>(packets[i].size())) < 0) continue;
      std::memcpy(packet->data, packets[i].data(), packets[i].size());
    }
    avcodec_send_packet(context.get(), packet.get());
    av_packet_unref(packet.get());
    while (avcodec_receive_frame(context.get(), frame.get()) >= 0) {
      count += frame->format == AV_PIX_FMT_VAAPI && av_hwframe_transfer_data(plain.get(), frame.get(), 0) >= 0;
      av_frame_unref(plain.get());
      av_frame_unref(frame.get());
    }
  }
  return count;
}

/// Number of bytes that stay undamaged: a NAL unit's start, a frame's header, all of a JPEG but its scan.
std::size_t header_bytes(const Bytes& packet, bool is_jpeg) {
  constexpr std::uint8_t kScan[] = {0xff, 0xda};
  constexpr std::ptrdiff_t kScanHeader = 14;
  if (!is_jpeg) return 8;
  const auto found = std::search(packet.begin(), packet.end(), std::begin(kScan), std::end(kScan));
  return static_cast<std::size_t>(std::min(found - packet.begin() + kScanHeader, packet.end() - packet.begin()));
}

/// Damages slices only. No start code or marker may arise: with a changed parameter set, libavcodec itself would decode
/// to surfaces in software, where it crashes.
void damage(std::vector<Bytes>& packets, bool is_jpeg, std::mt19937& random) {
  for (auto& packet : packets) {
    const std::size_t header = header_bytes(packet, is_jpeg);
    if (packet.size() <= header) continue;
    switch (random() % 8) {
      case 0:
      case 1:
        for (unsigned i = 1 + random() % 6; i > 0; --i)
          packet[header + random() % (packet.size() - header)] = static_cast<std::uint8_t>((random() & 127) | 2);
        break;
      case 2:
        packet.resize(header + random() % (packet.size() - header));
        break;
      case 3:
        if (random() % 3 == 0) packet.clear();
        break;
      case 4:
        std::swap(packet, packets[random() % packets.size()]);
        break;
      default:
        break;
    }
  }
}

class VaStreamFuzz : public ::testing::TestWithParam<Codec> {
 protected:
  void SetUp() override {
    av_log_set_level(AV_LOG_QUIET);
    whole = encode(GetParam());
    if (whole.packets.empty()) GTEST_SKIP() << "libavcodec has no encoder " << GetParam().encoder;
    AVBufferRef* made = nullptr;
    ASSERT_GE(av_hwdevice_ctx_create(&made, AV_HWDEVICE_TYPE_VAAPI, "/dev/dri/renderD128", nullptr, 0), 0);
    device.reset(made);
    count = decode(GetParam(), whole, device.get());
    ASSERT_GT(count, 10) << "the whole stream";
  }
  void TearDown() override { Damage::stop(); }
  VADisplay display() const {
    return static_cast<AVVAAPIDeviceContext*>(reinterpret_cast<AVHWDeviceContext*>(device->data)->hwctx)->display;
  }
  Stream whole;
  Owned<AVBufferRef> device;
  int count = 0;
};

TEST_P(VaStreamFuzz, DamagedPackets) {
  soak(60, [&](unsigned seed) {
    std::mt19937 random(seed);
    Stream damaged = whole;
    damage(damaged.packets, std::string(GetParam().decoder) == "mjpeg", random);
    decode(GetParam(), damaged, device.get());
  });
  EXPECT_EQ(decode(GetParam(), whole, device.get()), count);
}

TEST_P(VaStreamFuzz, DamagedBuffers) {
#ifdef __SANITIZE_ADDRESS__
  if (GetParam().decoder == std::string("mjpeg"))
    GTEST_SKIP() << "libavcodec's VA-API decoder of JPEG loses 96 bytes of each picture that a driver refuses";
#endif
  soak(60, [&](unsigned seed) {
    std::mt19937 random(seed);
    Damage::install(display(), &random);
    decode(GetParam(), whole, device.get());
    Damage::stop();
  });
  EXPECT_EQ(decode(GetParam(), whole, device.get()), count);
}

INSTANTIATE_TEST_SUITE_P(All, VaStreamFuzz, ::testing::ValuesIn(kCodecs),
                         [](const auto& info) { return info.param.decoder; });

}  // namespace
}  // namespace tenon::va::test
