#include "veche/comm/grid/links/links.h"

#include <asio/post.hpp>
#include <future>

#include "veche/comm/grid/links/link_table.h"

namespace veche::grid {

Links::Links(const KeyPair& key, std::shared_ptr<Trust> trust, const std::string& certificate,
             const LinkOptions& options, LinkEvents& events)
    : state_(std::make_shared<LinkTable>(key, std::move(trust), options, events)) {
  state_->set_certificate(certificate);
}
Links::~Links() { stop(); }
void Links::start() { state_->start(); }
void Links::stop() { state_->stop(); }
std::vector<std::string> Links::addresses() const { return state_->addresses(); }
void Links::add_address(const std::string& address) { state_->add_address(address); }
std::string Links::local_address() const { return state_->local_address(); }
void Links::set_incarnation(std::uint64_t incarnation) { state_->set_incarnation(incarnation); }
void Links::set_certificate(const std::string& certificate) { state_->set_certificate(certificate); }

void Links::want(const MemberId& peer, const std::vector<std::string>& addresses) {
  post([state = state_.get(), peer, addresses] { state->want(peer, addresses); });
}
void Links::meet(const std::vector<std::string>& addresses) {
  post([state = state_.get(), addresses] { state->meet(addresses); });
}
bool Links::lacks() const { return state_->lacks(); }
void Links::forget(const MemberId& peer, const std::string& why) {
  state_->outbox(peer)->forget();  // at once: later messages are for the peer's next life
  post([state = state_.get(), peer, why] { state->forget(peer, why); });
}
void Links::forget_views_before(std::uint64_t view) {
  for (const auto& [peer, box] : state_->outboxes()) box->forget_views_before(view);
}
void Links::close(const MemberId& peer, const std::string& why) {
  post([state = state_.get(), peer, why] { state->close(peer, why); });
}

void Links::send(const Recipient& to, const DataHead& head, Message message,
                 const std::function<bool()>& go_on) {
  state_->outbox(to.id)->put({0, to.incarnation, 0, head, std::move(message)}, state_->options().backlog,
                             go_on);
}
void Links::send_ended(const Recipient& to, const DataHead& head) {
  state_->outbox(to.id)->put({0, to.incarnation, kNodeEnded, head, {}}, state_->options().backlog, {});
}
void Links::tell(const MemberId& to, std::string word) {
  if (!is_up(to)) return;
  state_->outbox(to)->put(coded(Header{Kind::word, 0, static_cast<std::uint32_t>(word.size()), 0}) + word);
}

void Links::ask(const MemberId& to, Service service, std::string_view text, Answer told) {
  post([state = state_.get(), to, request = coded_request(service, text), told = std::move(told)] {
    state->ask(to, request, told);
  });
}
std::optional<Message> Links::ask(const MemberId& to, Service service, std::string_view text, Time limit) {
  const auto promise = std::make_shared<std::promise<std::optional<Message>>>();
  auto future = promise->get_future();
  ask(to, service, text, [promise](std::optional<Message> answer) { promise->set_value(std::move(answer)); });
  if (future.wait_for(limit) != std::future_status::ready) return {};
  return future.get();
}

bool Links::flush(Time limit) {
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(limit);
  std::vector<std::pair<std::shared_ptr<Outbox>, std::uint64_t>> asked;
  for (const auto& [peer, box] : state_->outboxes())
    if (is_up(peer))
      asked.emplace_back(box, box->put({0, 0, kAnswerAtOnce, {}, {}}, state_->options().backlog, {}));
  bool all = true;
  for (const auto& [box, number] : asked) all = box->wait_until_acknowledged(number, until) && all;
  return all;
}

void Links::set_heartbeat(std::string text) { state_->set_heartbeat(std::move(text)); }
bool Links::is_up(const MemberId& peer) const { return state_->is_up(peer); }
std::vector<LinkState> Links::states() const { return state_->states(); }
Time Links::longest_round_trip() const { return state_->longest_round_trip(); }
MessagePool& Links::pool() { return state_->pool(); }
void Links::post(std::function<void()> what) { asio::post(state_->context(), std::move(what)); }
void Links::after(Time delay, std::function<void()> what) {
  post([state = state_.get(), delay, what = std::move(what)] { state->after(delay, what); });
}

}  // namespace veche::grid
