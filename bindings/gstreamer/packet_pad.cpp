// SPDX-License-Identifier: Apache-2.0
// Hands packets in GStreamer's buffers to a sink.
#include <tenon/bindings/gstreamer/packet_pad.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <tenon/bindings/gstreamer/host.hpp>
#include <tenon/core/error.hpp>
#include <tenon/frameworks/gstreamer/orientation.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace {

namespace gs = tenon::gstreamer;

/// GStreamer's type of a stream, in the form that files have, and FFmpeg's name of its codec.
struct PacketCodec {
  std::string_view type;
  const char *caps, *name;
};
constexpr PacketCodec kCodecs[] = {{"video/x-h264", "video/x-h264,stream-format=avc,alignment=au", "h264"},
                                   {"video/x-h265", "video/x-h265,stream-format=hvc1,alignment=au", "hevc"},
                                   {"video/x-vp8", "video/x-vp8", "vp8"},
                                   {"video/x-vp9", "video/x-vp9", "vp9"},
                                   {"video/x-av1", "video/x-av1,stream-format=obu-stream,alignment=tu", "av1"},
                                   {"video/mpeg", "video/mpeg,mpegversion=4,systemstream=false", "mpeg4"},
                                   {"image/jpeg", "image/jpeg", "mjpeg"}};

/// A buffer's bytes, while it lives.
class Bytes {
 public:
  explicit Bytes(GstBuffer* buffer) : buffer_(buffer) {
    if (!gst_buffer_map(buffer, &map_, GST_MAP_READ))
      throw Error(tenon::Code::kFailedPrecondition, "packets cannot be read by the CPU", "gst_buffer_map", 0);
  }
  ~Bytes() { gst_buffer_unmap(buffer_, &map_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  std::span<const std::uint8_t> get() const { return {map_.data, map_.size}; }

 private:
  GstBuffer* const buffer_;
  GstMapInfo map_{};
};

std::int64_t time_of(GstClockTime time, std::int64_t unknown = kNoTimestamp) {
  return time > static_cast<GstClockTime>(INT64_MAX) ? unknown : static_cast<std::int64_t>(time);
}

}  // namespace

void PacketPad::add_template(GstElementClass* element_class) {
  const gs::CapsPtr all(gst_caps_new_empty());
  for (const PacketCodec& codec : kCodecs) gst_caps_append(all.get(), gst_caps_from_string(codec.caps));
  gst_element_class_add_pad_template(element_class,
                                     gst_pad_template_new("packets", GST_PAD_SINK, GST_PAD_ALWAYS, all.get()));
}

PacketPad::PacketPad(GstElement* object) : object_(object) {
  auto* const element_class = reinterpret_cast<GstElementClass*>(reinterpret_cast<GTypeInstance*>(object)->g_class);
  pad_ = gst_pad_new_from_template(gst_element_class_get_pad_template(element_class, "packets"), "packets");
  gst_pad_set_element_private(pad_, this);
  static const auto of = [](GstPad* pad) -> PacketPad& {
    return *static_cast<PacketPad*>(gst_pad_get_element_private(pad));
  };
  gst_pad_set_chain_function(
      pad_, [](GstPad* pad, GstObject*, GstBuffer* buffer) { return of(pad).chain(gs::BufferPtr(buffer)); });
  gst_pad_set_event_function(pad_, [](GstPad* pad, GstObject*, GstEvent* event) { return of(pad).event(event); });
  gst_element_add_pad(object, pad_);
}

void PacketPad::start(elements::PacketSink& sink) {
  const std::lock_guard lock(mutex_);
  sink_ = &sink;
}

void PacketPad::stop() {
  const std::lock_guard lock(mutex_);
  sink_ = nullptr;
}

void PacketPad::interrupt() {
  const std::lock_guard lock(mutex_);
  is_interrupted_ = true;
  changed_.notify_all();
}

void PacketPad::begin_again() {
  const std::lock_guard lock(mutex_);
  has_begun_ = has_ended_ = is_interrupted_ = false;
  rotation_ = Rotation::kNone;
}

bool PacketPad::has_begun() const {
  const std::lock_guard lock(mutex_);
  return has_begun_;
}

void PacketPad::wait_for_end(Deadline deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [this] { return has_ended_ || is_interrupted_; });
}

GstFlowReturn PacketPad::chain(const gs::BufferPtr& buffer) {
  const std::lock_guard lock(mutex_);
  if (!sink_ || is_interrupted_) return GST_FLOW_FLUSHING;
  if (!has_begun_) return GST_FLOW_NOT_NEGOTIATED;
  try {
    const Bytes bytes(buffer.get());
    sink_->add_packet({bytes.get(), time_of(GST_BUFFER_PTS(buffer.get())), time_of(GST_BUFFER_DTS(buffer.get())),
                       time_of(GST_BUFFER_DURATION(buffer.get()), 0),
                       !GST_BUFFER_FLAG_IS_SET(buffer.get(), GST_BUFFER_FLAG_DELTA_UNIT)});
    return GST_FLOW_OK;
  } catch (const std::exception& error) {
    post_error(object_, error, During::kStream);
    return GST_FLOW_ERROR;
  }
}

/// @pre The mutex is held. @errors as PacketSink::begin_packets()
void PacketPad::begin(GstCaps* caps) {
  const GstStructure* const fields = gst_caps_get_structure(caps, 0);
  elements::EncodedStream stream;
  for (const PacketCodec& codec : kCodecs)
    if (codec.type == gst_structure_get_name(fields)) stream.codec = codec.name;
  gint width = 0, height = 0;
  gst_structure_get_int(fields, "width", &width);
  gst_structure_get_int(fields, "height", &height);
  stream.width_px = static_cast<std::uint32_t>(std::max(width, 0));
  stream.height_px = static_cast<std::uint32_t>(std::max(height, 0));
  stream.rotation = rotation_;
  std::optional<Bytes> header;
  const GValue* const given = gst_structure_get_value(fields, "codec_data");
  if (given && GST_VALUE_HOLDS_BUFFER(given)) stream.header = header.emplace(gst_value_get_buffer(given)).get();
  sink_->begin_packets(stream);
  has_begun_ = true;
}

/// @pre The mutex is held. @return False: an error has been posted.
bool PacketPad::begin_stream(GstCaps* caps) {
  has_ended_ = false;
  if (!sink_ || !caps) return true;
  try {
    begin(caps);
    return true;
  } catch (const std::exception& error) {
    post_error(object_, error, During::kNegotiation);
    return false;
  }
}

gboolean PacketPad::event(GstEvent* event) {
  const std::lock_guard lock(mutex_);
  bool is_good = true;
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_CAPS: {
      GstCaps* caps = nullptr;
      gst_event_parse_caps(event, &caps);
      is_good = begin_stream(caps);
      break;
    }
    case GST_EVENT_FLUSH_STOP:  // What comes after a flush does not continue what came before.
      is_good = begin_stream(gs::CapsPtr(gst_pad_get_current_caps(pad_)).get());
      break;
    case GST_EVENT_TAG: {  // Usually between the caps and the first packet.
      const Rotation said = gs::orientation_of(event).value_or(rotation_);
      if (std::exchange(rotation_, said) != said && has_begun_)
        is_good = begin_stream(gs::CapsPtr(gst_pad_get_current_caps(pad_)).get());
      break;
    }
    case GST_EVENT_STREAM_START:
      rotation_ = Rotation::kNone;
      has_ended_ = false;
      break;
    case GST_EVENT_EOS:
      has_ended_ = true;
      changed_.notify_all();
      break;
    default:
      break;
  }
  gst_event_unref(event);
  return is_good ? TRUE : FALSE;
}

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
