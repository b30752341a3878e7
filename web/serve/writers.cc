#include "web/serve/writers.h"

#include <utility>

#include "veche/base/machine/denormals.h"

namespace veche::web {

WrittenText::Part WrittenText::take() {
  const MutexLock lock(mutex_);
  Part part = part_;
  part_.text.clear();
  return part;
}

Writers::~Writers() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  come_.notify_one();
  thread_.join();
}

std::shared_ptr<WrittenText> Writers::begin(TextWriter writer, std::uint64_t tokens) {
  const std::shared_ptr<WrittenText> text(new WrittenText(std::move(writer), tokens));
  const MutexLock lock(mutex_);
  std::erase_if(texts_, [](const auto& one) { return one.expired(); });
  if (ending_ || texts_.size() >= most_) return nullptr;
  texts_.push_back(text);
  ++counts_.texts;
  come_.notify_one();
  return text;
}

Writers::Counts Writers::counts() const {
  const MutexLock lock(mutex_);
  Counts counts = counts_;
  counts.now = texts_.size();
  return counts;
}

void Writers::work() {
  const FlushDenormals flush;
  MutexLock lock(mutex_);
  for (;;) {
    come_.wait(mutex_, [&]() VECHE_REQUIRES(mutex_) { return ending_ || !texts_.empty(); });
    if (ending_) return;
    // The first text gets a token and becomes the last.
    const std::weak_ptr<WrittenText> next = texts_.front();
    const std::shared_ptr<WrittenText> text = next.lock();
    if (text == nullptr) {
      texts_.pop_front();
      continue;
    }
    lock.unlock();
    const bool goes_on = write(*text);
    lock.lock();
    ++counts_.tokens;
    // `begin` may have removed texts without a client, but not this one.
    texts_.remove_if([&](const auto& one) { return !one.owner_before(next) && !next.owner_before(one); });
    if (goes_on) texts_.push_back(next);
  }
}

bool Writers::write(WrittenText& text) {
  std::string part, failure;
  bool goes_on = true;
  try {
    part = text.writer_.next();
    goes_on = --text.left_ > 0;
    if (!goes_on) part += text.writer_.rest();
  } catch (const std::exception& error) {
    failure = error.what();
    goes_on = false;
  }
  const MutexLock lock(text.mutex_);
  text.part_.text += part;
  text.part_.tokens = text.writer_.tokens();
  text.part_.ended = !goes_on;
  text.part_.failure = failure;
  return goes_on;
}

}  // namespace veche::web
