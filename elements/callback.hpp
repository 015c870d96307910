// SPDX-License-Identifier: Apache-2.0
// Elements that call functions of a program, for pipelines that begin in it, end in it or pass through it.
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

/// As Source::read(): returns the next frame, or nothing at the end; throws kDeadlineExceeded if no frame came in time.
using GiveFrame = std::function<std::optional<Frame>(Deadline deadline)>;
using ChangeFrame = std::function<void(std::uint32_t stream, Frame& frame)>;
using TakeFrame = std::function<void(std::uint32_t stream, const Frame& frame)>;
using TakeAudio = std::function<void(std::uint32_t stream, const AudioFrame& audio)>;

/// @name Elements made of a function. An exception from the function fails the stream, as with any element. The pipeline
/// calls the function on its own threads, one frame at a time, for all streams in turn. The function may keep copies of
/// frames.
/// @param info    Describes the frames that the function will give.
/// @param wanted  As Element::wanted(); the default only asks that the host reaches the bytes.
/// @{
TENON_API KnownElement source_of(std::string name, const StreamInfo& info, GiveFrame give);
TENON_API KnownElement transform_of(std::string name, ChangeFrame change, Requirements wanted = {});
TENON_API KnownElement sink_of(std::string name, TakeFrame take, Requirements wanted = {});
TENON_API KnownElement audio_sink_of(std::string name, TakeAudio take);
/// @}

/// Makes a node of such an element for one pipeline. For pipelines that come from files use register_element().
TENON_API NodeSpec node_of(KnownElement element);

}  // namespace elements
}  // namespace v1
}  // namespace tenon
