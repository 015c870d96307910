// SPDX-License-Identifier: Apache-2.0
// gvametapublish: writes the JSON that gvametaconvert attached to a file, or sends it to a broker.
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include <tenon/bindings/gstreamer/gva/gva.hpp>
#include <tenon/bindings/gstreamer/gva/in_place.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/file.hpp>
#include <tenon/core/platform/files.hpp>
#include <tenon/elements/publisher.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace gva {
namespace {

using Json = nlohmann::json;

/// The place of the texts.
class Target {
 public:
  virtual ~Target() = default;
  virtual void write(const std::string& text) = 0;
  /// What was written has arrived. More may come.
  virtual void drain() = 0;
  /// Completes it.
  virtual void finish() = 0;
  virtual void interrupt() noexcept {}
};

/// One of the elements json, mqtt and kafka.
class SinkTarget final : public Target {
 public:
  SinkTarget(const std::string& element, const Texts& parameters, const elements::Environment& environment)
      : sink_(std::get<std::unique_ptr<elements::Sink>>(elements::make_element(element, parameters, environment))),
        publisher_(dynamic_cast<elements::Publisher*>(sink_.get())) {
    if (!publisher_) throw Error(Code::kInternal, "the element " + element + " is no publisher");
    sink_->open(kStream, {});
  }
  void write(const std::string& text) override { publisher_->publish(kStream, text); }
  void drain() override { sink_->finish(); }
  void finish() override { sink_->end(kStream); }
  void interrupt() noexcept override { sink_->interrupt(); }

 private:
  std::unique_ptr<elements::Sink> sink_;
  elements::Publisher* const publisher_;
};

/// A file that appears when it is complete.
class DocumentTarget final : public Target {
 public:
  explicit DocumentTarget(const std::string& path) : file_(path, 0666, Durability::kProcess) {}
  void write(const std::string& text) override { file_.write((text + "\n").data(), text.size() + 1); }
  void drain() override {}
  void finish() override { file_.commit(); }

 private:
  NewFile file_;
};

/// Makes one array of the texts.
class ArrayTarget final : public Target {
 public:
  explicit ArrayTarget(std::unique_ptr<Target> target) : target_(std::move(target)) {}
  void write(const std::string& text) override { target_->write((std::exchange(has_text_, true) ? "," : "[") + text); }
  void drain() override { target_->drain(); }
  void finish() override {
    target_->write(has_text_ ? "]" : "[]");
    target_->finish();
  }
  void interrupt() noexcept override { target_->interrupt(); }

 private:
  const std::unique_ptr<Target> target_;
  bool has_text_ = false;
};

/// Whether the name is, or will be, that of a file, which can be replaced as a whole.
bool names_a_file(const std::string& path) {
  if (path == "stdout" || path.starts_with("/dev/") || path.starts_with("/proc/")) return false;
  platform::FileStatus status;
  return platform::status_of(path, status) || status.type == platform::FileType::kRegular;
}

std::unique_ptr<Target> file_target(const elements::Parameters& given, const elements::Environment& environment) {
  const std::string& path = given.text("file-path");
  if (path.empty()) throw Error(Code::kInvalidArgument, given.owner() + ": file-path is empty");
  const bool is_array = given.text("file-format") == "json";
  if (is_array && names_a_file(path)) {
    try {
      return std::make_unique<ArrayTarget>(std::make_unique<DocumentTarget>(path));
    } catch (const Error& error) {
      throw Error(error.code(), given.owner() + ": \"" + path + "\" cannot be written: " + error.what());
    }
  }
  // Lines of an earlier run stay, as there.
  const Texts made{{"path", path == "stdout" ? "-" : path}, {"append", is_array ? "false" : "true"}};
  auto lines = std::make_unique<SinkTarget>("json", made, environment);
  if (!is_array) return lines;
  return std::make_unique<ArrayTarget>(std::move(lines));
}

/// The parameters of the element mqtt in the file of mqtt-config, over those that properties set.
void read_config(const std::string& path, const std::string& owner, Texts& given, Texts& made) {
  const std::string what = owner + ": mqtt-config \"" + path + "\"";
  std::ifstream file(path);
  if (!file) throw Error(Code::kNotFound, what + " cannot be read");
  const Json document = Json::parse(file, nullptr, false);
  if (!document.is_object() || !document.contains("address"))
    throw Error(Code::kInvalidArgument, what + " is no JSON object with a member address");
  const auto text = [&](const char* name) -> std::string {
    const auto found = document.find(name);
    if (found == document.end() || found->is_null()) return {};
    if (!found->is_string())
      throw Error(Code::kInvalidArgument, what + ": " + name + " must be a text, and is " + found->type_name());
    return found->get<std::string>();
  };
  for (const auto& [theirs, ours] :
       {std::pair("address", "address"), std::pair("client-id", "mqtt-client-id"), std::pair("topic", "topic")}) {
    if (const std::string value = text(theirs); !value.empty()) given[ours] = value;
  }
  for (const char* refused : {"ssl_client_certificate", "ssl_private_key"}) {
    if (!text(refused).empty())
      throw Error(Code::kUnimplemented, what + ": " + refused + ": a client's own certificate is not possible here");
  }
  const auto tls = document.find("TLS");
  if (tls == document.end() || !tls->is_boolean() || !tls->get<bool>()) return;
  if (text("ssl_CA_certificate").empty())
    throw Error(Code::kUnimplemented,
                what + ": TLS needs ssl_CA_certificate: the broker's certificate is always checked");
  made["ca_file"] = text("ssl_CA_certificate");
}

/// Parses HOST or HOST:PORT; an IPv6 address with a port is in brackets.
void put_address(const std::string& address, Texts& made) {
  const std::size_t colon = address.rfind(':');
  const bool has_port =
      colon != std::string::npos && colon > 0 && (address.find(':') == colon || address[colon - 1] == ']');
  std::string host = address.substr(0, has_port ? colon : address.size());
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  made["host"] = host;
  if (has_port) made["port"] = address.substr(colon + 1);
}

std::unique_ptr<Target> target_of(const elements::Parameters& given, const elements::Environment& environment) {
  const std::string& method = given.text("method");
  if (method == "file") return file_target(given, environment);
  Texts own{{"address", given.text("address")},
            {"topic", given.text("topic")},
            {"mqtt-client-id", given.text("mqtt-client-id")}};
  Texts made;
  if (method == "mqtt" && !given.text("mqtt-config").empty())
    read_config(given.text("mqtt-config"), given.owner(), own, made);
  if (own["topic"].empty())
    throw Error(Code::kInvalidArgument, given.owner() + ": method=" + method + " needs a topic");
  made["topic"] = own["topic"];
  if (method == "kafka") {
    if (!own["address"].empty()) made["brokers"] = own["address"];
    return std::make_unique<SinkTarget>("kafka", made, environment);
  }
  if (!own["address"].empty()) put_address(own["address"], made);
  if (!own["mqtt-client-id"].empty()) made["client_id"] = own["mqtt-client-id"];
  return std::make_unique<SinkTarget>("mqtt", made, environment);
}

class MetaPublish final : public InPlace {
 public:
  using InPlace::InPlace;
  static void init_class(GstBaseTransformClass* base_class, Kind& kind) {
    init_class_of<MetaPublish>(base_class, kind);
  }

 private:
  void start(const elements::Parameters& given) override { target_ = target_of(given, {name(), &ledger}); }
  void process(GstBuffer* buffer) override {
    for (const std::string& text : messages_of(buffer)) target_->write(text);
  }
  void end() override { target_->drain(); }
  void stop() override {
    if (const std::unique_ptr<Target> held = std::move(target_)) held->finish();
  }
  void interrupt() noexcept override {
    if (target_) target_->interrupt();
  }

  std::unique_ptr<Target> target_;  ///< Set between start and stop.
};

}  // namespace

elements::ElementFiles files_of_meta_publish(const Texts& given) {
  const auto value_of = [&](const char* name, const char* otherwise) {
    const auto found = given.find(name);
    return found == given.end() || found->second.empty() ? std::string(otherwise) : found->second;
  };
  elements::ElementFiles files;
  const std::string path = value_of("file-path", "stdout"), config = value_of("mqtt-config", "");
  if (value_of("method", "file") == "file" && path != "stdout") files.written = {path};
  files.appends = value_of("file-format", "json") == "json-lines";
  if (!config.empty()) files.read = {config};
  return files;
}

GType meta_publish_type(Kind& kind) {
  return register_type<MetaPublish, GstBaseTransform, GstBaseTransformClass>(GST_TYPE_BASE_TRANSFORM, kind);
}

}  // namespace gva
}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
