// SPDX-License-Identifier: Apache-2.0
// The base of sinks that publish the metadata of each frame as a line of JSON.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/audio.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/elements/parameters.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// metadata::json_line() with the number of the stream before it. @thread any.
TENON_API std::string result_line(std::uint32_t stream, const Frame& frame);
/// The same for sound: timestamp, channels, rate, number of samples and metadata.
TENON_API std::string result_line(std::uint32_t stream, const AudioFrame& audio);

/// The parameter wait_s. @thread any.
TENON_API Clock::duration wait_from(const Parameters& given);
/// "0.3 s". @thread any.
TENON_API std::string seconds_text(Clock::duration time);
/// `text` with the number of the stream in place of each "{stream}". @thread any.
TENON_API std::string with_stream(std::string text, std::uint32_t stream);

/// Turns frames into lines of JSON. Derived classes send the lines.
class TENON_API Publisher : public Sink {
 public:
  explicit Publisher(const Parameters& given)
      : only_results_(given.flag("only_results")), wants_origin_(given.flag("origin")) {}
  bool wants_origin() const override { return wants_origin_; }
  void write(std::uint32_t stream, const Frame& frame) final;
  void write_audio(std::uint32_t stream, const AudioFrame& audio) final;
  /// Sends a text of the caller's in place of a line about a frame. @param text  Without a line break.
  void publish(std::uint32_t stream, std::string text) { send(stream, std::move(text)); }

 protected:
  /// @param line  Without a line break.
  virtual void send(std::uint32_t stream, std::string line) = 0;

 private:
  const bool only_results_, wants_origin_;
};

/// `own` and the parameters that every Publisher has.
TENON_API std::vector<Parameter> publisher_parameters(std::vector<Parameter> own);

}  // namespace elements
}  // namespace v1
}  // namespace tenon
