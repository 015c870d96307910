// SPDX-License-Identifier: Apache-2.0
// Audio in GstBuffers to AudioFrame and back.
#pragma once

#include <gst/audio/audio.h>

#include <tenon/core/audio.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/frameworks/gstreamer/frame.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {

/// Wraps the samples in `buffer` in place, for reading; planes of planar audio lie where its GstAudioMeta says. Takes its
/// own reference, as wrap() does for pictures.
/// @errors kInvalidArgument: null, a GstAudioMeta that contradicts `info`, bytes that are no whole number of samples;
/// kOutOfRange: a channel past the end of its memory; kFailedPrecondition: GStreamer does not map it.
/// @thread any. @cost a reference and a map per memory, one small vector; moves no bytes.
AudioFrame wrap_audio(GstBuffer* buffer, const AudioInfo& info);

/// The samples in the buffer of `sample`, with what its metas say. @errors as wrap_audio(), audio_info(), read_metadata()
AudioFrame wrap_audio(GstSample* sample);

/// `audio` as a GstBuffer over the same bytes, with a GstAudioMeta where it is planar, and its metadata as metas. Caps are
/// caps(audio.info()). @errors kFailedPrecondition: planes that are not contiguous, or that GStreamer cannot reach;
/// kInvalidArgument: empty; kUnimplemented: samples that GStreamer does not have; as write_metadata().
BufferPtr buffer(const AudioFrame& audio, Deadline deadline = default_deadline());

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
