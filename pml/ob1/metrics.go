package ob1

import (
	"github.com/ompi-go/ompi-go/metrics"
	"github.com/ompi-go/ompi-go/pml"
)

var (
	matchesDesc       = &metrics.Desc{Name: "ompi_pml_matches_total", Help: "Receives matched with a message."}
	unexpectedDesc    = &metrics.Desc{Name: "ompi_pml_unexpected_total", Help: "Messages that came before a receive for them was posted."}
	outOfSequenceDesc = &metrics.Desc{Name: "ompi_pml_out_of_sequence_total", Help: "Messages held until earlier ones of the same sender came."}
	strayDesc         = &metrics.Desc{Name: "ompi_pml_stray_total", Help: "Messages that came before their communicator was made here."}
	refusedDesc       = &metrics.Desc{Name: "ompi_pml_refused_total", Help: "Frames thrown away because they made no sense."}
	retriesDesc       = &metrics.Desc{Name: "ompi_pml_retries_total", Help: "Times that a send or a control message had to wait for room in a BTL."}
	againDesc         = &metrics.Desc{Name: "ompi_pml_sent_again_total", Help: "First and further fragments of messages sent again because their path broke."}
	copyFallbacksDesc = &metrics.Desc{Name: "ompi_pml_copy_fallbacks_total", Help: "Ranges of messages copied in fragments because memory could not be registered, read or written."}
	overruledDesc     = &metrics.Desc{Name: "ompi_pml_protocol_overruled_total", Help: "Messages that could not go as pml_ob1_protocol wishes."}
	keptDesc          = &metrics.Desc{Name: "ompi_pml_kept_bytes_total", Help: "Memory taken for messages that could not be matched when they came; less the bytes released, what is kept now."}
	releasedDesc      = &metrics.Desc{Name: "ompi_pml_released_bytes_total", Help: "Memory of such messages given back."}
	highestDesc       = &metrics.Desc{Name: "ompi_pml_kept_highest_bytes_total", Help: "The most that such messages have held at a time; bounded by pml_ob1_unexpected_bytes."}
	creditsDesc       = &metrics.Desc{Name: "ompi_pml_credits_total", Help: "Frames that returned eager credit to a peer."}
	loansDesc         = &metrics.Desc{Name: "ompi_pml_credit_loans_total", Help: "Grants beyond a peer's window, since something waited for what it kept back."}
	poorDesc          = &metrics.Desc{Name: "ompi_pml_without_credit_total", Help: "Eager messages announced without payload for want of credit."}
	starvedDesc       = &metrics.Desc{Name: "ompi_pml_starved_total", Help: "Messages kept back by their sender for want of credit even to announce them."}
	checksumErrDesc   = &metrics.Desc{Name: "ompi_pml_checksum_errors_total", Help: "Payloads that were damaged on their way, found with pml_ob1_checksum."}
)

// Describe implements metrics.Source.
func (o *module) Describe() []*metrics.Desc {
	return []*metrics.Desc{
		pml.MessagesSent, pml.BytesSent, pml.MessagesReceived, pml.BytesReceived, matchesDesc, unexpectedDesc, outOfSequenceDesc, strayDesc, refusedDesc,
		retriesDesc, againDesc, copyFallbacksDesc, overruledDesc, checksumErrDesc, keptDesc, releasedDesc, highestDesc, creditsDesc, loansDesc, poorDesc, starvedDesc,
	}
}

// Metrics implements metrics.Source. The token is held.
func (o *module) Metrics(emit metrics.Emit) {
	s := &o.stats
	for p := range protoCount {
		emit(pml.MessagesSent, s.Sent[p], p.String())
		emit(pml.BytesSent, s.SentBytes[p], p.String())
		if p == protoInline {
			continue // a receiver cannot tell it from eager
		}
		emit(pml.MessagesReceived, s.Received[p], p.String())
		emit(pml.BytesReceived, s.ReceivedBytes[p], p.String())
	}
	emit(matchesDesc, s.Matches)
	emit(unexpectedDesc, s.Unexpected)
	emit(outOfSequenceDesc, s.OutOfSequence)
	emit(strayDesc, s.Stray)
	emit(refusedDesc, s.Refused)
	emit(retriesDesc, s.Retries)
	emit(againDesc, s.Again)
	emit(copyFallbacksDesc, s.CopyFallback)
	emit(overruledDesc, s.Overruled)
	emit(checksumErrDesc, s.ChecksumErrors)
	c := &o.credit.stats
	emit(keptDesc, c.KeptAll)
	emit(releasedDesc, c.KeptAll-uint64(c.Kept))
	emit(highestDesc, uint64(c.Highest))
	emit(creditsDesc, c.Credits)
	emit(loansDesc, c.Loans)
	emit(poorDesc, c.Poor)
	emit(starvedDesc, c.Starved)
}
