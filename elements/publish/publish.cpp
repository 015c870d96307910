// SPDX-License-Identifier: Apache-2.0
// The transform "publish": does what the sinks json, mqtt and kafka do, and passes frames on. Whether the chosen sink exists is
// known when the element is made.
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/elements/publish/elements.hpp>
#include <tenon/elements/publisher.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace publish {
namespace {

using Texts = std::map<std::string, std::string>;

/// Parses the options "NAME=VALUE;NAME=VALUE". @errors kInvalidArgument: a part without =
void add_options(const Parameters& given, Texts& to) {
  std::istringstream all(given.text("options"));
  for (std::string one; std::getline(all, one, ';');) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(Code::kInvalidArgument,
                  given.owner() + ": options: '" + one + "' is not NAME=VALUE; separate them by ;");
    to[one.substr(0, equals)] = one.substr(equals + 1);
  }
}

/// Parses HOST or HOST:PORT; an IPv6 address with a port is in brackets.
void add_address(const std::string& address, Texts& to) {
  const std::size_t colon = address.rfind(':');
  const bool has_port = colon != std::string::npos && (address.find(':') == colon || address[colon - 1] == ']');
  std::string host = address.substr(0, has_port ? colon : address.size());
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  to["host"] = host;
  if (has_port) to["port"] = address.substr(colon + 1);
}

/// The name of the sink and its parameters.
std::pair<std::string, Texts> sink_of(const Parameters& given) {
  const std::string& method = given.text("method");
  const std::string &address = given.text("address"), &topic = given.text("topic");
  Texts texts{{"only_results", to_text(given.flag("only_results"))}, {"origin", to_text(given.flag("origin"))}};
  if (method == "file") {
    if (!address.empty() || !topic.empty())
      throw Error(Code::kInvalidArgument, given.owner() + ": address and topic are for brokers: method=mqtt or kafka");
    texts["path"] = given.text("path");
  } else {
    if (!topic.empty()) texts["topic"] = topic;
    if (!address.empty() && method == "mqtt") add_address(address, texts);
    if (!address.empty() && method == "kafka") texts["brokers"] = address;
  }
  add_options(given, texts);
  return {method == "file" ? "json" : method, std::move(texts)};
}

std::unique_ptr<Sink> make_sink(const Parameters& given, const Environment& environment) {
  const auto [name, texts] = sink_of(given);
  try {
    return std::get<std::unique_ptr<Sink>>(make_element(name, texts, environment));
  } catch (const Error& error) {
    throw Error(error.code(), given.owner() + ", method=" + given.text("method") + ": " + error.what());
  }
}

class Publish final : public TransformInplace {
 public:
  Publish(const Parameters& given, const Environment& environment) : sink_(make_sink(given, environment)) {}

  StreamInfo open(std::uint32_t stream, const StreamInfo& in) override {
    sink_->open(stream, in);
    ++running_;
    return in;
  }
  void process(std::uint32_t stream, Frame& frame) override { sink_->write(stream, frame); }
  void process_audio(std::uint32_t stream, AudioFrame& audio) override { sink_->write_audio(stream, audio); }
  void end(std::uint32_t stream) override {
    sink_->end(stream);
    if (--running_ == 0) sink_->finish();
  }
  bool wants_origin() const override { return sink_->wants_origin(); }
  void interrupt() noexcept override { sink_->interrupt(); }

 private:
  const std::unique_ptr<Sink> sink_;
  int running_ = 0;  ///< The number of streams that are open.
};

}  // namespace

KnownElement publish() {
  Description made;
  made.name = "publish";
  made.about =
      "Passes frames on, and writes or sends the metadata of each as a line of JSON, as the sinks json, mqtt and kafka "
      "do";
  made.role = Role::kTransformInplace;
  made.parameters = publisher_parameters(
      {choice("method", "Where the lines go", "file", {"file", "mqtt", "kafka"}),
       {"path", "For method=file: a file, a named pipe, or - for standard output", std::string("-")},
       {"address", "For mqtt and kafka: HOST:PORT of the broker; empty: this machine", std::string()},
       {"topic", "For mqtt and kafka, which need one: topic to publish to", std::string()},
       {"options", "More parameters of the element json, mqtt or kafka: NAME=VALUE;NAME=VALUE", std::string()}});
  made.files = [](const Parameters& given, const Environment& environment) {
    const auto [name, texts] = sink_of(given);
    if (name == "json") return element_files(find_element(name), texts, environment);
    const auto certificates = texts.find("ca_file");
    return certificates == texts.end() ? ElementFiles() : ElementFiles{{certificates->second}};
  };
  made.is_shared = true;
  made.has_thread = true;
  made.takes = Takes::kBoth;
  return {made, [](const Parameters& given, const Environment& environment) -> AnyElement {
            return std::make_unique<Publish>(given, environment);
          }};
}

}  // namespace publish
}  // namespace elements
}  // namespace v1
}  // namespace tenon
