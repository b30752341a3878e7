#include "web/serve/text_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "veche/errors.h"

namespace veche::web {

extern const char kGeneratePage[];  // the text of generate.html

namespace {

using TextJson = nlohmann::ordered_json;

constexpr std::uint64_t kMostTokens = 100'000, kUsualTokens = 300;

std::string dumped(const TextJson& json) {
  return json.dump(-1, ' ', false, TextJson::error_handler_t::replace);
}

HttpReply json_answer(const TextJson& json) { return {.body = dumped(json) + "\n"}; }

// A number of the query; `usual` if it is not there. Throws RequestError.
template <class T>
T number_of(const HttpRequest& request, const char* key, T usual, const char* what) {
  const std::string word = request.query_value(key);
  if (word.empty()) return usual;
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size())
    throw RequestError(fmt::format("{} must be {}", key, what));
  return value;
}

std::string event(const char* name, const TextJson& json) {
  return fmt::format("event: {}\ndata: {}\n\n", name, dumped(json));
}

// The events of a text, made from what was written since the last ones.
class TextEvents {
 public:
  explicit TextEvents(std::shared_ptr<WrittenText> text) : text_(std::move(text)) {}

  std::string next() {
    if (ended_) return {};
    const WrittenText::Part part = text_->take();
    std::string events;
    if (!part.text.empty()) events += event("text", {{"text", part.text}});
    if (!part.failure.empty()) events += event("failed", {{"error", part.failure}});
    if (part.ended) events += event("done", {{"tokens", part.tokens}});
    ended_ = part.ended;
    return events;
  }
  bool ended() const { return ended_; }

 private:
  const std::shared_ptr<WrittenText> text_;
  bool ended_ = false;
};

}  // namespace

TextService::TextService(const std::filesystem::path& place, std::optional<NodeId> node, int threads,
                         Guard guard)
    : CountedService(std::move(guard)), model_(place, node, threads), samples_(model_), writers_(kMostTexts) {
  model_.check_continues_texts();
}

HttpReply TextService::answer(const HttpRequest& request) {
  try {
    if (request.path == "/samples") return counted({.body = samples_.json()});
    return counted(generate(request));
  } catch (const RequestError& error) {
    return counted(refusal(400, error.what()));
  }
}

std::optional<HttpReply> TextService::route(const HttpRequest& head) {
  const std::string& path = head.path;
  const bool posts = path == "/generate";
  const bool gets =
      path == "/" || path == "/health" || path == "/model" || path == "/metrics" || path == "/samples";
  if (!posts && !gets) return refusal(404, "no such page: POST the beginning of a text to /generate");
  if (posts ? head.method != "POST" : head.method != "GET" && head.method != "HEAD") {
    HttpReply reply =
        refusal(405, posts ? path + " wants a text: POST one" : path + " is there to be read: GET it");
    reply.headers.emplace_back("Allow", posts ? "POST" : "GET, HEAD");
    return reply;
  }
  if (posts || path == "/samples") return std::nullopt;
  if (path == "/metrics") return metrics();
  if (path == "/model") return about();
  if (path == "/health")
    return json_answer({{"status", "ok"}, {"model", model_.name()}, {"step", model_.step()}});
  return HttpReply{.type = "text/html; charset=utf-8", .body = kGeneratePage, .headers = page_headers()};
}

HttpReply TextService::generate(const HttpRequest& request) {
  const Sampling usual;
  const Sampling how{
      .temperature = number_of(request, "temperature", usual.temperature, "a number from 0 on"),
      .top_k = number_of(request, "top_k", usual.top_k, "a number of tokens, or 0 for all"),
      .seed = number_of(request, "seed", usual.seed, "a whole number from 0 on")};
  const auto tokens = number_of(request, "tokens", kUsualTokens, "a number of tokens");
  if (tokens < 1 || tokens > kMostTokens)
    throw RequestError(fmt::format("tokens must be a number from 1 to {}", kMostTokens));
  std::shared_ptr<WrittenText> text;
  {
    const MutexLock lock(model_mutex_);
    text = writers_.begin(model_.begin_text(request.body, how), tokens);
  }
  if (text == nullptr)
    return refusal(503, fmt::format("{} texts are being written: try again in a moment", kMostTexts));
  // The reply is the only owner of the text: a client that goes away ends it.
  const auto events = std::make_shared<TextEvents>(std::move(text));
  return {.type = "text/event-stream",
          .headers = {{"Cache-Control", "no-store"}},
          .parts = [events] { return events->next(); },
          .ended = [events] { return events->ended(); }};
}

HttpReply TextService::about() const {
  return json_answer({{"name", model_.name()},
                      {"model", model_.model()},
                      {"who", model_.who()},
                      {"step", model_.step()},
                      {"nodes", model_.nodes()},
                      {"parameters", model_.parameters()},
                      {"context", model_.input().shape.size()},
                      {"vocabulary", model_.classes()},
                      {"tokenizer", word_of(model_.input().tokenizer->kind())}});
}

HttpReply TextService::metrics() const {
  std::string text = requests_by_status();
  const Writers::Counts counts = writers_.counts();
  text += family("veche_texts_total", "counter", "Texts that the served model has begun to write.");
  text += fmt::format("veche_texts_total {}\n", counts.texts);
  text += family("veche_tokens_total", "counter", "Tokens that it has written.");
  text += fmt::format("veche_tokens_total {}\n", counts.tokens);
  text += family("veche_texts_now", "gauge", "Texts that are being written.");
  text += fmt::format("veche_texts_now {}\n", counts.now);
  text += family("veche_model_step", "gauge", "The step of the checkpoint that is served.");
  text += fmt::format("veche_model_step {}\n", model_.step());
  return {.type = "text/plain; version=0.0.4", .body = text};
}

}  // namespace veche::web
