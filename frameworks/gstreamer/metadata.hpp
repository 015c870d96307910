// SPDX-License-Identifier: Apache-2.0
// Metadata of frames to GStreamer's metas and back: regions of interest, reference timestamps, protection, custom metas.
#pragma once

#include <memory>

#include <tenon/core/frame.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/frameworks/gstreamer/frame.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {

/// The custom metas in which what GStreamer has no meta for travels: a GstStructure with a field "kind". The second is for
/// what has a place in the picture, as fractions of its size or beside the size: it passes elements that convert or scale,
/// not those that cut.
inline constexpr const char* kMetaName = "TenonMeta";
inline constexpr const char* kPictureMetaName = "TenonPictureMeta";

namespace detail {

void register_metas();

}  // namespace detail

/// Writes `known` as metas of `buffer`, instead of the metas of these types that it has. An object becomes a
/// GstVideoRegionOfInterestMeta (whole pixels; with "detection" and "classification" as its parameters, whose fields have
/// the names that DL Streamer uses), a reference time a GstReferenceTimestampMeta, a record the meta that it was,
/// all else a custom meta (kMetaName, kPictureMetaName). Tensors are not copied if they are packed and the CPU reaches them.
/// Types of a user's own stay behind.
/// @param info  Describes the picture, for boxes in fractions.
/// @errors kFailedPrecondition: the buffer has other references (gst_buffer_make_writable); kInvalidArgument: a clock's name
/// or a record that GStreamer cannot have; kNotFound: a record of a meta that is not registered.
/// @thread any, one at a time for each buffer.
void write_metadata(const metadata::Collection& known, const FrameInfo& info, GstBuffer* buffer);

/// Adds what the metas of `buffer` say to `known`: those that write_metadata() writes, regions of interest of other
/// elements, protection metas and other custom metas as records. Tensors are not copied: they keep their buffers.
/// @param info  Describes the picture; has no meaning for audio.
/// @errors kInvalidArgument: null, or a meta of Tenon's that is damaged; kOutOfRange: a tensor larger than its bytes.
void read_metadata(GstBuffer* buffer, const FrameInfo& info, metadata::Collection& known);
/// The picture to which the metas of `buffer` refer: `info`, or the whole one of which a GstVideoCropMeta leaves a part.
FrameInfo whole_picture(GstBuffer* buffer, const FrameInfo& info);
/// What that crop leaves of `known`, at the places of the cropped picture; `known` itself without a crop.
std::shared_ptr<metadata::Collection> cropped(GstBuffer* buffer, std::shared_ptr<metadata::Collection> known);
/// As read_metadata() above, in a collection of its own that is cropped as the picture is.
std::shared_ptr<metadata::Collection> read_metadata(GstBuffer* buffer, const FrameInfo& info);

/// The picture in the buffer of `sample` with what its metas say, if they say anything. @errors as wrap(),
/// read_metadata()
Frame wrap_with_metadata(GstSample* sample, CapsCache& cache);

/// As buffer(frame), with the frame's metadata as metas. If others refer to the frame's own buffer, this is another one
/// over the same memory. @errors as buffer(), write_metadata()
BufferPtr buffer_with_metadata(const Frame& frame, Deadline deadline = default_deadline());

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
