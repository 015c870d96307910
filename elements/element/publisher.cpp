// SPDX-License-Identifier: Apache-2.0
// Writes metadata as lines of JSON.
#include <tenon/elements/publisher.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <utility>

#include <tenon/core/metadata.hpp>
#include <tenon/elements/internal/text.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

/// Whether the metadata hold more than the frame's source and its reference time.
bool has_results(const metadata::Collection* known) {
  return known && known->size() > known->all<metadata::Source>().size() + known->all<metadata::ReferenceTime>().size();
}

std::string stream_field(std::uint32_t stream) { return "{\"stream\":" + std::to_string(stream) + ","; }

}  // namespace

std::string result_line(std::uint32_t stream, const Frame& frame) {
  return stream_field(stream) +
         metadata::json_line(frame).substr(1);  // The object is never empty, so the comma is right.
}

std::string result_line(std::uint32_t stream, const AudioFrame& audio) {
  std::string line = stream_field(stream);
  if (audio.timestamp_ns() != kNoTimestamp) line += "\"timestamp_ns\":" + std::to_string(audio.timestamp_ns()) + ",";
  line += "\"channels\":" + std::to_string(audio.info().channels) +
          ",\"rate_hz\":" + std::to_string(audio.info().rate_hz) +
          ",\"samples\":" + std::to_string(audio.sample_count());
  const auto known = audio.find_metadata();
  return line + ",\"metadata\":" + (known ? known->json() : "[]") + "}";
}

Clock::duration wait_from(const Parameters& given) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(given.number("wait_s")));
}

std::string seconds_text(Clock::duration time) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", std::chrono::duration<double>(time).count());
  return text;
}

std::string with_stream(std::string text, std::uint32_t stream) {
  put_in(text, "{stream}", std::to_string(stream));
  return text;
}

void Publisher::write(std::uint32_t stream, const Frame& frame) {
  if (only_results_ && !has_results(metadata::find(frame).get())) return;
  send(stream, result_line(stream, frame));
}

void Publisher::write_audio(std::uint32_t stream, const AudioFrame& audio) {
  if (only_results_ && !has_results(audio.find_metadata().get())) return;
  send(stream, result_line(stream, audio));
}

std::vector<Parameter> publisher_parameters(std::vector<Parameter> own) {
  own.push_back({"only_results", "Only frames in which something was found", false});
  own.push_back({"origin",
                 "Adds to the metadata of each frame the name of its source, its number there (source) and the time at "
                 "which it was read (reference_time of the clock unix)",
                 false});
  return own;
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
