#pragma once

#include <array>
#include <atomic>
#include <optional>

#include "veche/runtime/inference/trained_model.h"
#include "web/serve/counted_service.h"
#include "web/serve/samples.h"
#include "web/serve/writers.h"

namespace veche::web {

// A trained language model over HTTP (docs/serving.md):
//   POST /generate  the beginning of a text: its continuation as server-sent events;
//                   ?tokens= temperature= top_k= seed=
//   GET  /samples   beginnings of test texts
//   GET  /model     description of the model and its vocabulary
//   GET  /health    whether it answers
//   GET  /metrics   counters for Prometheus
//   GET  /          a page to try it
class TextService : public CountedService {
 public:
  // Throws RequestError if there is no such model, or if it does not continue texts.
  TextService(const std::filesystem::path& place, std::optional<NodeId> node, int threads, Guard guard);

  HttpReply answer(const HttpRequest& request) override;
  const TrainedModel& model() const { return model_; }

  static constexpr std::size_t kMostTexts = 32;  // written at a time

 private:
  std::optional<HttpReply> route(const HttpRequest& head) override;
  HttpReply generate(const HttpRequest& request);
  HttpReply about() const;
  HttpReply metrics() const;

  TrainedModel model_;
  Mutex model_mutex_;  // making a generation
  TestSamples samples_;
  Writers writers_;
};

}  // namespace veche::web
