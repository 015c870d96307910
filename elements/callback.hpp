// SPDX-License-Identifier: Apache-2.0
// Elements that are functions of a program, for pipelines that begin, end or pass through it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <tenon/core/audio.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/elements/description.hpp>
#include <tenon/elements/pipeline_spec.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// As Source::read(): the next frame, nothing at the end; throws kDeadlineExceeded where none came in time.
using GiveFrame = std::function<std::optional<Frame>(Deadline deadline)>;
using ChangeFrame = std::function<void(std::uint32_t stream, Frame& frame)>;
using TakeFrame = std::function<void(std::uint32_t stream, const Frame& frame)>;
using TakeAudio = std::function<void(std::uint32_t stream, const AudioFrame& audio)>;

/// @name Elements of a function. What it throws is the stream's failure, as of any element. It is called for one frame at a
/// time, for all streams in turn, in threads of the pipeline, and may keep copies of frames.
/// @param info    What the frames will be.
/// @param wanted  As Element::wanted(): by default no more than that the host reaches the bytes.
/// @{
TENON_API KnownElement source_of(std::string name, const StreamInfo& info, GiveFrame give);
TENON_API KnownElement transform_of(std::string name, ChangeFrame change, Requirements wanted = {});
TENON_API KnownElement sink_of(std::string name, TakeFrame take, Requirements wanted = {});
TENON_API KnownElement audio_sink_of(std::string name, TakeAudio take);
/// @}

/// A node of such an element, for one pipeline; register_element() is for pipelines that come from files.
TENON_API NodeSpec node_of(KnownElement element);

}  // namespace elements
}  // namespace v1
}  // namespace tenon
