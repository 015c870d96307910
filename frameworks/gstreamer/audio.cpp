// SPDX-License-Identifier: Apache-2.0
// Audio in GstBuffers to AudioFrame and back.
#include <tenon/frameworks/gstreamer/audio.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/gstreamer/caps.hpp>
#include <tenon/frameworks/gstreamer/metadata.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {

TENON_INLINE AudioFrame wrap_audio(GstBuffer* buffer, const AudioInfo& info) {
  if (!buffer) throw Error(Code::kInvalidArgument, "gstreamer::wrap_audio: a null GstBuffer");
  const std::size_t sample = size_bytes(info.sample), bytes = gst_buffer_get_size(buffer);
  const std::size_t step = sample * info.channels;
  const GstAudioMeta* meta = gst_buffer_get_audio_meta(buffer);
  if (step == 0 || (!meta && bytes % step != 0))
    throw Error(Code::kInvalidArgument, "gstreamer::wrap_audio: a GstBuffer of " + std::to_string(bytes) +
                                            " bytes, which is no whole number of " + std::to_string(info.channels) +
                                            " samples of type " + std::string(name(info.sample)) +
                                            "; it is truncated, or its caps are another stream's");
  if (meta && (meta->info.channels != static_cast<gint>(info.channels) || meta->info.bpf != static_cast<gint>(step) ||
               (meta->info.layout == GST_AUDIO_LAYOUT_NON_INTERLEAVED) != info.planar))
    throw Error(Code::kInvalidArgument, "gstreamer::wrap_audio: its GstAudioMeta says " +
                                            std::to_string(meta->info.channels) +
                                            " channels, or another layout, than its caps: the stream has changed; take "
                                            "the sample's own caps");
  const std::size_t count = meta ? meta->samples : bytes / step;
  std::vector<Tensor> planes;
  if (!info.planar) {
    planes.push_back(wrap(buffer, TensorInfo{info.sample, {count, info.channels}, {}}));
  } else {
    for (std::size_t c = 0; c < info.channels; ++c)
      planes.push_back(
          wrap(buffer, TensorInfo{info.sample, {count}, {}}, meta ? meta->offsets[c] : c * count * sample));
  }
  return AudioFrame(info, std::move(planes), detail::timestamp_ns(buffer));
}

TENON_INLINE AudioFrame wrap_audio(GstSample* sample) {
  GstBuffer* const buffer = sample ? gst_sample_get_buffer(sample) : nullptr;
  if (!buffer) throw Error(Code::kInvalidArgument, "gstreamer::wrap_audio: a null GstSample, or one without a buffer");
  AudioFrame audio = wrap_audio(buffer, audio_info(gst_sample_get_caps(sample)));
  read_metadata(buffer, {}, audio.metadata());
  return audio;
}

TENON_INLINE BufferPtr buffer(const AudioFrame& audio, Deadline deadline) {
  if (!audio) throw Error(Code::kInvalidArgument, "gstreamer::buffer: an empty audio frame");
  start();
  BufferPtr made(gst_buffer_new());
  std::vector<gsize> offsets;
  std::size_t end = 0;
  for (const Tensor& plane : audio.planes()) {
    offsets.push_back(end);
    end += plane.size_bytes();
    made.reset(gst_buffer_append(made.release(), buffer(plane, deadline).release()));
  }
  if (audio.info().planar) {
    GstAudioInfo info;
    if (!gst_audio_info_from_caps(&info, caps(audio.info()).get()) ||
        !gst_buffer_add_audio_meta(made.get(), &info, audio.sample_count(), offsets.data()))
      throw Error(Code::kInternal, "gstreamer::buffer: no GstAudioMeta for planar audio", "gst_buffer_add_audio_meta",
                  0);
  }
  if (audio.timestamp_ns() != kNoTimestamp && audio.timestamp_ns() >= 0)
    GST_BUFFER_PTS(made.get()) = static_cast<GstClockTime>(audio.timestamp_ns());
  GST_BUFFER_DURATION(made.get()) = static_cast<GstClockTime>(audio.duration_ns());
  if (const auto known = audio.find_metadata()) write_metadata(*known, {}, made.get());
  return made;
}

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
