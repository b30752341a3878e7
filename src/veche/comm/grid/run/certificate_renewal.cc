#include "veche/comm/grid/run/certificate_renewal.h"

#include "veche/comm/grid/run/joining.h"
#include "veche/comm/grid/wire_encoding.h"

namespace veche::grid {

namespace {
constexpr Time kLookAtCertificate{600};
}  // namespace

void CertificateRenewal::watch() {
  own_.links->after(kLookAtCertificate, [this] {
    renew();
    watch();
  });
}

void CertificateRenewal::renew() {
  const auto read = read_certificate(certificate_);
  const Instant wall = std::chrono::system_clock::now();
  const bool signs = own_.trust->inviter(own_.id()) != nullptr;
  if (signs && read && expiry_of(read.get()) > wall + kMemberLife / 2 &&
      !own_.trust->refusal(read.get(), nullptr, wall))
    return;
  if (signs) return take(make_member(own_.key, own_.key.get(), wall));
  for (const Member& member : agreement_.membership().present().members)
    if (own_.trust->inviter(member.id) && own_.links->is_up(member.id))
      return own_.links->ask(member.id, Service::renew, "", [this](const std::optional<Message>& given) {
        if (!given) return;
        try {
          const Signed certificates = read_signed(text_view(*given));
          if (own_.trust->learn(certificates.warrant)) own_.files.write_trust(*own_.trust);
          take(certificates.certificate);
        } catch (const MalformedMessage&) {
          // Retried later.
        }
      });
}

void CertificateRenewal::take(const std::string& der) {
  const auto read = read_certificate(der);
  if (!read || id_of(read.get()) != own_.id() ||
      own_.trust->refusal(read.get(), nullptr, std::chrono::system_clock::now()))
    return;
  certificate_ = der;
  own_.files.write_certificate(der);
  own_.links->set_certificate(der);
}

}  // namespace veche::grid
