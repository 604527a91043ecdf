"""Whole sentences and their phonemes, checked by reading: homographs, weak forms, numbers."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from kokoro_pipeline.config import default_config
from kokoro_pipeline.errors import InputError
from kokoro_pipeline.runtime.text import (
    Phonemized,
    Vocabulary,
    parse_ssml,
    phonemize,
    read_sentences,
)
from kokoro_pipeline.runtime.text.english.tables import table

VOCABULARY = Vocabulary(default_config().vocab)

# A stress mark precedes its vowel; A I O Q W Y are the diphthongs of day, my, go (American), go
# (British), now, boy; T is the flap of "letter".
AMERICAN: list[tuple[str, str]] = [
    ("Hello world, this costs $5.20.", "həlˈO wˈɜɹld, ðɪs kˈɔsts fˈIv dˈɑləɹz ænd twˈɛnti sˈɛnts."),
    (
        "The quick brown fox jumps over the lazy dog.",
        "ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˈOvəɹ ðə lˈAzi dˈɔɡ.",
    ),
    ("“Don’t go,” she said. ‘I won’t!’", "“dˈOnt ɡˌO,” ʃi sˈɛd. “ˌI wˈOnt!”"),
    (
        "Wait... what?! No way--really? Yes; of course: it's true (I think).",
        "wˈAt… wˌʌt?! nˈO wˈA—ɹˈiᵊli? jˈɛs; ʌv kˈɔɹs: ɪts tɹˈu (ˌI θˈɪŋk).",
    ),
    ("The apple, the pear, an egg and a hat.", "ði ˈæpᵊl, ðə pˈɛɹ, ɐn ˈɛɡ ænd ɐ hˈæt."),
    ("To eat or not to eat, that is the question.", "tʊ ˈit ɔɹ nˌɑt tʊ ˈit, ðˈæt ɪz ðə kwˈɛsʧᵊn."),
    ("I want to go to Iowa to see it.", "ˌI wˈɑnt tə ɡˌO tʊ ˈIəwə tə sˈi ɪt."),
    (
        "That is what I want. I know that he knows that man.",
        "ðˈæt ɪz wˌʌt ˌI wˈɑnt. ˌI nˈO ðæt hi nˈOz ðæt mˈæn.",
    ),
    ("I read the book yesterday.", "ˌI ɹˈɛd ðə bˈʊk jˈɛstəɹdˌA."),
    ("I read books every day.", "ˌI ɹˈid bˈʊks ˈɛvəɹi dˈA."),
    ("She has read it, and he will read it to you.", "ʃˌi hæz ɹˈɛd ɪt, ænd hi wɪl ɹˈid ɪt tə ju."),
    ("They read the newspaper last week.", "ðˌA ɹˈɛd ðə nˈuzpˌApəɹ lˈæst wˈik."),
    ("You should have read it. What did you read?", "jˌu ʃˌʊd hæv ɹˈɛd ɪt. wˌʌt dˈɪd ju ɹˈid?"),
    (
        "They live in a small house; he lives here, too.",
        "ðˌA lˈɪv ɪn ɐ smˈɔl hˈWs; hi lˈɪvz hˈɪɹ, tˈu.",
    ),
    (
        "The concert was broadcast live: live music all night.",
        "ðə kˈɑnsəɹt wʌz bɹˈɔdkˌæst lˈIv: lˈIv mjˈuzɪk ˈɔl nˈIt.",
    ),
    ("Cats have nine lives. It saves lives.", "kˈæts hæv nˈIn lˈIvz. ˌɪt sˈAvz lˈIvz."),
    ("She took the lead. The pipe is made of lead.", "ʃˌi tˈʊk ðə lˈid. ðə pˈIp ɪz mˌAd ʌv lˈɛd."),
    ("Lead the way past the lead pipes.", "lˈid ðə wˈA pˈæst ðə lˈɛd pˈIps."),
    ("What's the use? I use it. It's no use.", "wˌʌts ðə jˈus? ˌI jˈuz ɪt. ˌɪts nˈO jˈus."),
    (
        "We used to use the old one. It is used to cut wood. I am used to it.",
        "wˌi jˈust tə jˈuz ði ˈOld wˈʌn. ˌɪt ɪz jˈuzd tə kˈʌt wˈʊd. ˌI ɐm jˈust tʊ ɪt.",
    ),
    (
        "They record a new record. World records were broken.",
        "ðˌA ɹəkˈɔɹd ɐ nˈu ɹˈɛkəɹd. wˈɜɹld ɹˈɛkəɹdz wɜɹ bɹˈOkən.",
    ),
    (
        "The band recorded a record number of records.",
        "ðə bˈænd ɹəkˈɔɹdᵻd ɐ ɹˈɛkəɹd nˈʌmbəɹ ʌv ɹˈɛkəɹdz.",
    ),
    ("The object of the game. I object to that.", "ði ˈɑbʤəkt ʌv ðə ɡˈAm. ˌI əbʤˈɛkt tə ðˈæt."),
    (
        "Present the present to the members who are present.",
        "pɹizˈɛnt ðə pɹˈɛzᵊnt tə ðə mˈɛmbəɹz hˌu ɑɹ pɹˈɛzᵊnt.",
    ),
    ("The wind was strong. Wind the clock.", "ðə wˈɪnd wʌz stɹˈɔŋ. wˈInd ðə klˈɑk."),
    ("The bandage was wound around the wound.", "ðə bˈændɪʤ wʌz wˈWnd əɹˈWnd ðə wˈund."),
    ("A minute amount. Wait a minute.", "ɐ mInˈut əmˈWnt. wˈAt ɐ mˈɪnət."),
    (
        "Please close the door. They are close to us at the close of day.",
        "plˈiz klˈOz ðə dˈɔɹ. ðˌA ɑɹ klˈOs tʊ ˌʌs æt ðə klˈOz ʌv dˈA.",
    ),
    (
        "He shed a tear. Don't tear the paper. There is a tear in my shirt.",
        "hˌi ʃˈɛd ɐ tˈɪɹ. dˈOnt tˈɛɹ ðə pˈApəɹ. ðˌɛɹ ɪz ɐ tˈɛɹ ɪn mI ʃˈɜɹt.",
    ),
    (
        "The soldier decided to desert his dessert in the desert.",
        "ðə sˈOlʤəɹ dəsˈIdᵻd tə dəzˈɜɹt hɪz dəzˈɜɹt ɪn ðə dˈɛzəɹt.",
    ),
    ("The content is good. I am content with it.", "ðə kˈɑntɛnt ɪz ɡˈʊd. ˌI ɐm kəntˈɛnt wɪð ɪt."),
    ("I refuse to take out the refuse.", "ˌI ɹəfjˈuz tə tˈAk ˈWt ðə ɹˈɛfjˌus."),
    ("The farm was used to produce produce.", "ðə fˈɑɹm wʌz jˈuzd tə pɹədˈus pɹˈOdˌus."),
    ("The insurance is invalid for the invalid.", "ði ɪnʃˈʊɹəns ɪz ɪnvˈælɪd fɔɹ ði ˈɪnvəlɪd."),
    ("A dove dove into the bushes.", "ɐ dˈʌv dˈOv ˈɪntu ðə bˈʊʃᵻz."),
    (
        "He plays bass guitar. He caught a bass in the lake.",
        "hˌi plˈAz bˈAs ɡətˈɑɹ. hˌi kˈɔt ɐ bˈæs ɪn ðə lˈAk.",
    ),
    (
        "The bow of the ship. Take a bow. A bow and arrow.",
        "ðə bˈW ʌv ðə ʃˈɪp. tˈAk ɐ bˈW. ɐ bˈO ænd ˈɛɹO.",
    ),
    ("We must polish the Polish furniture.", "wˌi mˈʌst pˈɑlɪʃ ðə pˈOlɪʃ fˈɜɹnəʧəɹ."),
    (
        "She could separate them into separate rooms.",
        "ʃˌi kʊd sˈɛpəɹˌAt ðˌɛm ˈɪntu sˈɛpəɹət ɹˈumz.",
    ),
    (
        "An estimate. I estimate that prices increase. The increase was small.",
        "ɐn ˈɛstəmət. ˌI ˈɛstəmˌAt ðæt pɹˈIsᵻz ɪnkɹˈis. ði ˈɪnkɹˌis wʌz smˈɔl.",
    ),
    (
        "He objects to the project. They project growth.",
        "hˌi əbʤˈɛkts tə ðə pɹˈɑʤˌɛkt. ðˌA pɹəʤˈɛkt ɡɹˈOθ.",
    ),
    (
        "Permit me. They have a permit. Insert the card. The insert fell out.",
        "pəɹmˈɪt mˌi. ðˌA hæv ɐ pˈɜɹmɪt. ɪnsˈɜɹt ðə kˈɑɹd. ði ˈɪnsˌɜɹt fˈɛl ˈWt.",
    ),
    (
        "My excuse? Excuse me. They abuse power. The abuse of power.",
        "mˌI ɪkskjˈus? ɪkskjˈuz mˌi. ðˌA əbjˈuz pˈWəɹ. ði əbjˈus ʌv pˈWəɹ.",
    ),
    (
        "The rebels rebel. Muscles contract. Practice makes perfect.",
        "ðə ɹˈɛbᵊlz ɹəbˈɛl. mˈʌsᵊlz kəntɹˈækt. pɹˈæktəs mˌAks pˈɜɹfəkt.",
    ),
    (
        "I'll graduate in May. She's a graduate. An elaborate, deliberate act.",
        "ˌIl ɡɹˈæʤʊˌAt ɪn mˈA. ʃˌiz ɐ ɡɹˈæʤəwət. ɐn əlˈæbəɹət, dəlˈɪbəɹət ˈækt.",
    ),
    ("NASA and the FBI met at the WHO.", "nˈæsə ænd ði ˌɛfbˌiˈI mˈɛt æt ðə dˌʌbᵊljuˌAʧˈO."),
    (
        "The IT department gave it to US officials.",
        "ði ˌItˈi dəpˈɑɹtmənt ɡˈAv ɪt tə jˌuˈɛs əfˈɪʃᵊlz.",
    ),
    ("THIS IS GREAT NEWS FOR US.", "ðɪs ɪz ɡɹˈAt nˈuz fɔɹ ˌʌs."),
    ("This is VERY important.", "ðˌɪs ɪz vˈɛɹi ɪmpˈɔɹtᵊnt."),
    (
        "Dr. Smith lives on Main St. in Washington, D.C. at 10 a.m.",
        "dˈɑktəɹ smˈɪθ lˈɪvz ˌɔn mˈAn stɹˈit ɪn wˈɔʃɪŋtən, dˌisˈi æt tˈɛn ˌAˈɛm.",
    ),
    (
        "Mr. and Mrs. Jones met Prof. Lee vs. St. Peter, etc. He left.",
        ("mˈɪstəɹ ænd mˈɪsɪz ʤˈOnz mˈɛt pɹəfˈɛsəɹ lˈi vˈɜɹsəs sˈAnt pˈiTəɹ, ɛtsˈɛTəɹə. hˌi lˈɛft."),
    ),
    (
        "The U.S. economy grew 3.5% in 2023. It's 5:30 p.m.",
        (
            "ðə jˌuˈɛs ikˈɑnəmi ɡɹˈu θɹˈi pˈYnt fˈIv pəɹsˈɛnt ɪn twˈɛnti twˈɛntiθɹˌi. ˌɪts "
            "fˈIv θˈɜɹTi pˌiˈɛm."
        ),
    ),
    (
        "J. R. R. Tolkien, i.e. the author, wrote e.g. The Hobbit.",
        "ʤˈA ˈɑɹ ˈɑɹ tˈOlkin, ðˈæt ɪz ði ˈɔθəɹ, ɹˈOt fɔɹ ɪɡzˈæmpəl ðə hˈɑbət.",
    ),
    ("Henry VIII, Chapter IV, World War II.", "hˈɛnɹi ði ˈAθ, ʧˈæptəɹ fˈɔɹ, wˈɜɹld wˈɔɹ tˈu."),
    (
        "He was born on July 4, 1976 and died on 2/3/2005.",
        (
            "hˌi wʌz bˈɔɹn ˌɔn ʤəlˈI fˈɔɹθ, nˌIntˈin sˈɛvəntisˌɪks ænd dˈId ˌɔn fˈɛbjəwˌɛɹi "
            "θˈɜɹd, tˈu θˈWzᵊnd fˈIv."
        ),
    ),
    (
        "On 25 December 1999, at 10:00, 1,234 people waited.",
        (
            "ˌɔn ðə twˈɛntifˌɪfθ ʌv disˈɛmbəɹ, nˌIntˈin nˈIndinˌIn, æt tˈɛn əklˈɑk, wˈʌn "
            "θˈWzᵊnd tˈu hˈʌndɹəd θˈɜɹTifˌɔɹ pˈipᵊl wˈATᵻd."
        ),
    ),
    (
        "Call (212) 555-0198 from Room 237.",
        ("kˈɔl tˈu wˈʌn tˈu, fˈIv fˈIv fˈIv, zˈɪɹO wˈʌn nˈIn ˈAt fɹʌm ɹˈum tˈu θˌɜɹTisˈɛvən."),
    ),
    (
        "In the '90s, the 1960s and the 20th century.",
        "ɪn ðə nˈIndiz, ðə nˌIntˈin sˈɪkstiz ænd ðə twˈɛntiəθ sˈɛnʧəɹi.",
    ),
    (
        "Add 2 1/2 cups, ¾ of it at -5°C (23°F).",
        (
            "ˈæd tˈu ænd ɐ hˈæf kˈʌps, θɹˈi kwˈɔɹTəɹz ʌv ɪt æt mˈInəs fˈIv dəɡɹˈiz sˈɛlsiəs "
            "(twˈɛntiθɹˌi dəɡɹˈiz fˈɛɹənhˌIt)."
        ),
    ),
    (
        "The 10-year-old ran 5 km at 10 km/h, i.e. 3x faster.",
        (
            "ðə tˌɛnjˈɪɹˈOld ɹˈæn fˈIv kəlˈɑməTəɹz æt tˈɛn kəlˈɑməTəɹz pɜɹ ˈWəɹ, ðˈæt ɪz "
            "θɹˈi tˈImz fˈæstəɹ."
        ),
    ),
    (
        "A $100 bill, £20, €3.50, $1.5 billion, 75¢ and $1.01.",
        (
            "ɐ wˈʌn hˈʌndɹəd dˈɑləɹ bˈɪl, twˈɛnti pˈWndz, θɹˈi jˈʊɹOz ænd fˈɪfti sˈɛnts, "
            "wˈʌn pˈYnt fˈIv bˈɪljən dˈɑləɹz, sˈɛvəntifˌIv sˈɛnts ænd wˈʌn dˈɑləɹ ænd wˈʌn "
            "sˈɛnt."
        ),
    ),
    (
        "Pages 10–20, No. 5, #1, 24/7, 50/50.",
        ("pˈAʤᵻz tˈɛn tə twˈɛnti, nˈʌmbəɹ fˈIv, nˈʌmbəɹ wˈʌn, twˈɛntifˌɔɹ sˈɛvən, fˈɪfti fˈɪfti."),
    ),
    (
        "COVID-19, MP3, 4K TV, H2O, F-16.",
        "kˌOvɪdnˌIntˈin, ˌɛmpˈi θɹˈi, fˈɔɹ kˈA tˌivˈi, ˈAʧ tˈu ˈO, ˈɛfsɪkstˌin.",
    ),
    (
        "Visit https://www.example.com/a or mail me@example.org.",
        (
            "vˈɪzət dˌʌbᵊljudˌʌbᵊljudˈʌbᵊlju dˈɑt ɪɡzˈæmpəl dˈɑt kˈɑm slˈæʃ ˈA ɔɹ mˈAl mˌi "
            "æt ɪɡzˈæmpəl dˈɑt ˈɔɹɡ."
        ),
    ),
    ("AT&T uses C++ and Node.js.", "ˌAtˈi ænd tˈi jˈuzᵻz sˈi plˈʌs plˈʌs ænd nˈOd dˈɑt ʤˌAˈɛs."),
    ("A state-of-the-art, well-known mother-in-law.", "ɐ stˈAtʌvðiˈɑɹt, wˌɛlnˈOn mˈʌðəɹənlˌɔ."),
    (
        "I'd've gone, y'all; rock 'n' roll, o'clock, ma'am, 'tis.",
        "Idəv ɡˈɔn, jˈɔl; ɹˈɑk ən ɹˈOl, əklˈɑk, mˈæm, tˈɪz.",
    ),
    ("The dogs' bowls and James's book.", "ðə dˈɔɡz bˈOlz ænd ʤˈAmzᵻz bˈʊk."),
    (
        "A naïve café owner sent her résumé from Zürich.",
        "ɐ nɑˈiv kæfˈA ˈOnəɹ sˈɛnt hɜɹ ɹˈɛzəmˌA fɹʌm zˈuɹɪk.",
    ),
    (
        "The xylophonist flibbertigibbet Schwarzenegger.",
        "ðə zIlˈɑfənˌɪst flˌɪbəɹTiʤˈɪbət ʃwˈɔɹzənˌɛɡəɹ.",
    ),
    ("He copied it and specified it.", "hˌi kˈɑpid ɪt ænd spˈɛsəfˌId ɪt."),
    ("Kokoro speaks JSON.", "kˈOkəɹO spˈiks ʤˈAsᵊn."),
    ("Vitamin A is an A grade; A is a letter.", "vˈITəmən ˈA ɪz ɐn ˈA ɡɹˈAd; ˈA ɪz ɐ lˈɛTəɹ."),
    (
        "A European, an hour, an MBA and a UFO.",
        "ɐ jˌʊɹəpˈiən, ɐn ˈWəɹ, ɐn ˌɛmbˌiˈA ænd ɐ jˌuˌɛfˈO.",
    ),
    (
        "I want to “record” it on the “record”.",
        "ˌI wˈɑnt tə “ɹəkˈɔɹd” ɪt ˌɔn ðə “ɹˈɛkəɹd”.",
    ),
    ("She has “read” a (live) show.", "ʃˌi hæz “ɹˈɛd” ɐ (lˈIv) ʃˈO."),
    ("The verb “record” is one.", "ðə vˈɜɹb “ɹˈɛkəɹd” ɪz wˈʌn."),
    ("It was a “nice” (small) gift.", "ˌɪt wʌz ɐ “nˈIs” (smˈɔl) ɡˈɪft."),
    (
        "A “B” road, vitamin A “retinol”, (a) milk.",
        "ɐ “bˈi” ɹˈOd, vˈITəmən ˈA “ɹˈɛtənɑl”, (ˈA) mˈɪlk.",
    ),
    (
        "She has, of course, read it. I, too, read it yesterday.",
        "ʃˌi hˈæz, ʌv kˈɔɹs, ɹˈɛd ɪt. ˌI, tˈu, ɹˈɛd ɪt jˈɛstəɹdˌA.",
    ),
    ("They have (so far) read it.", "ðˌA hæv (sˌO fˈɑɹ) ɹˈɛd ɪt."),
    (
        "I can’t — in good conscience — record it.",
        "ˌI kˈænt—ɪn ɡˈʊd kˈɑnʃəns—ɹəkˈɔɹd ɪt.",
    ),
    ("It was, as I read, wrong.", "ˌɪt wʌz, æz ˌI ɹˈɛd, ɹˈɔŋ."),
    ("Have you, by chance, read it?", "hˌæv ju, bI ʧˈæns, ɹˈɛd ɪt?"),
    (
        "I read it, she reads it, they have read it.",
        "ˌI ɹˈid ɪt, ʃi ɹˈidz ɪt, ðA hæv ɹˈɛd ɪt.",
    ),
]

BRITISH: list[tuple[str, str]] = [
    ("Hello world, this costs £5.20.", "həlˈQ wˈɜːld, ðɪs kˈɒsts fˈIv pˈWndz and twˈɛnti pˈɛns."),
    ("The car park is far; the car is.", "ðə kˈɑː pˈɑːk ɪz fˈɑː; ðə kˈɑː ɪz."),
    (
        "I read the book yesterday. I read books every day.",
        "ˌI ɹˈɛd ðə bˈʊk jˈɛstədA. ˌI ɹˈiːd bˈʊks ˈɛvəɹi dˈA.",
    ),
    (
        "The schedule of the laboratory is in the garage.",
        "ðə ʃˈɛdjuːl ɒv ðə ləbˈɒɹətəɹi ɪz ɪn ðə ɡˈaɹɑːʤ.",
    ),
    (
        "Dr. Smith weighs 101 kg and was born on 4/7/1976.",
        (
            "dˈɒktə smˈɪθ wˈAz wˈʌn hˈʌndɹəd and wˈʌn kˈɪləɡɹamz and wɒz bˈɔːn ˌɒn ðə fˈɔːθ "
            "ɒv ʤʊlˈI, nˌIntˈiːn sˈɛvntisˌɪks."
        ),
    ),
    ("They record a new record in a small house.", "ðˌA ɹɪkˈɔːd ɐ njˈuː ɹˈɛkɔːd ɪn ɐ smˈɔːl hˈWs."),
    ("She can't dance in the bath.", "ʃˌiː kˈɑːnt dˈɑːns ɪn ðə bˈɑːθ."),
    ("Blairstown is a made-up name.", "blˈɛːstWn ɪz ɐ mˌAdˈʌp nˈAm."),
    ("The letter Z of New Zealand, NZ.", "ðə lˈɛtə zˈɛd ɒv njˈuː zˈiːlənd, ˌɛnzˈɛd."),
    ("She is MCing it in Oldham for DeWitt.", "ʃˌiː ɪz ˌɛmsˈiːɪŋ ɪt ɪn ˈQldəm fɔː dəwˈɪt."),
    ("The aluminium tomato, half past ten.", "ði ˌaljʊmˈɪnɪəm təmˈɑːtQ, hˈɑːf pˈɑːst tˈɛn."),
]


def read(text: str, lang: str = "en-us") -> Phonemized:
    return phonemize(text, lang)


@pytest.mark.parametrize(("text", "phonemes"), AMERICAN, ids=range(len(AMERICAN)))
def test_american_english(text: str, phonemes: str) -> None:
    """Protects the right reading of each sentence, homographs and numbers above all."""
    assert read(text).phonemes == phonemes


@pytest.mark.parametrize(("text", "phonemes"), BRITISH, ids=range(len(BRITISH)))
def test_british_english(text: str, phonemes: str) -> None:
    """Protects the other lexicon, its vowels, and "one hundred and one"."""
    assert read(text, "en-gb").phonemes == phonemes


@pytest.mark.parametrize(
    ("lang", "text"),
    [("en-us", text) for text, _ in AMERICAN] + [("en-gb", text) for text, _ in AMERICAN + BRITISH],
)
def test_phonemes_are_in_the_models_vocabulary(lang: str, text: str) -> None:
    """A symbol that the model does not know would not be spoken."""
    result = read(text, lang)
    assert VOCABULARY.encode(result.phonemes).unknown == ()
    assert result.unspoken == ()


@pytest.mark.parametrize("name", ["names", "supplement", "collocations"])
def test_the_tables_are_in_the_models_vocabulary(name: str) -> None:
    """A row may have a symbol that the model does not know, or no stress to carry its accent."""
    for *_, american, british in table(name):
        for phonemes in (american, british):
            assert VOCABULARY.encode(phonemes).unknown == (), phonemes
        assert american.count("ˈ") == british.count("ˈ"), american
        assert not {"O", "æ", "T", "ᵻ"}.intersection(british), british


def test_no_latin_letter_leaves_the_vocabulary() -> None:
    """eSpeak reads what no lexicon has, accented letters of any Latin alphabet among it."""
    letters = [chr(code) for code in range(0xC0, 0x250) if chr(code).isalpha()]
    result = read(" ".join(f"ba{letter}t" for letter in letters))
    assert VOCABULARY.encode(result.phonemes).unknown == ()
    assert len(result.phonemes.split()) >= len(letters)


def test_given_pronunciation_is_used_as_it_is() -> None:
    """`[text](/phonemes/)` overrides the lexicon, and its vowel decides the form of "the"."""
    result = read("The [Kokoro](/ˈakeko/) said: the [it](/bˈɪt/).")
    assert result.phonemes == "ði ˈakeko sˈɛd: ðə bˈɪt."
    assert ("Kokoro", "ˈakeko") in [word[:2] for word in result.words]


def test_what_is_not_english_is_reported() -> None:
    result = read("Hi 😀, 世界!")
    assert result.phonemes == "hˈI,!"
    assert result.unspoken == ("😀", "世界")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: phonemize(b"x"), "text is bytes, expected a string"),
        (lambda: phonemize(5), "text is int, expected a string"),
        (lambda: phonemize(["x", 5]), "a part of the text is int, expected a string"),
        (lambda: phonemize("x", lexicon="m.tsv"), r"lexicon is str, .*read_lexicon\(FILE\)"),
        (lambda: read_sentences(5), "text is int"),
        (lambda: parse_ssml(5), "source is int, expected a document as a string"),
        (lambda: parse_ssml(b"<speak/>"), "source is bytes"),
    ],
)
def test_an_argument_of_another_type_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("lang", ["tlh", "", "c", "english"])
def test_other_languages_are_refused_with_the_known_ones(lang: str) -> None:
    with pytest.raises(InputError, match=r"not supported.*en-us \(American English\), en-gb"):
        phonemize("hello", lang)


@pytest.mark.parametrize(
    ("lang", "same"), [("en", "en-us"), ("a", "en-us"), ("EN", "en-us"), ("b", "en-gb")]
)
def test_a_language_without_region_and_kokoros_letters_are_known(lang: str, same: str) -> None:
    assert read("tomato schedule", lang) == read("tomato schedule", same)


@pytest.mark.parametrize("lang", ["en-US", " en_us ", "EN-us"])
def test_language_codes_are_forgiving_in_form(lang: str) -> None:
    assert phonemize("hello", lang).phonemes == "həlˈO"


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        ("", "it is empty"),
        (" \n\t", "only white space"),
        ("...!?", "'...!?'"),
        ("😀 世界", "'😀 世界'"),
        ("“”()" * 50, "…'"),
    ],
)
def test_text_with_nothing_to_speak_is_refused(text: str, evidence: str) -> None:
    with pytest.raises(InputError, match="nothing to speak") as caught:
        phonemize(text)
    assert evidence in str(caught.value)


def test_threads_read_the_same() -> None:
    """eSpeak's library is one set of globals: unlocked, threads gave each other's words."""
    texts = [f"the {stem}ingtonite of {stem}ovia, {i}" for i, stem in enumerate(
        ["xylo", "brast", "quorv", "flim", "dreg", "spunt", "vorp", "klax"] * 20
    )]  # fmt: skip
    expected = [read(text).phonemes for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: read(text).phonemes, texts)) == expected


@pytest.mark.slow
def test_a_book_takes_linear_time() -> None:
    """100 kB and more, sentence by sentence; the bound is loose enough for a busy machine."""
    sentences = " ".join(text for text, _ in AMERICAN)
    start = time.process_time()
    result = read((sentences + "\n\n") * (150_000 // len(sentences)))
    assert time.process_time() - start < 60
    assert VOCABULARY.encode(result.phonemes).unknown == ()
    assert len(result.phonemes) > 100_000


@pytest.mark.parametrize("text", ["a-" * 500, "don't" * 500, "x" * 5000, "A." * 500, "a1" * 500])
def test_a_monstrous_word_is_read_in_parts(text: str) -> None:
    """The lexicon tries every run of a word's parts, so a long word must not reach it whole."""
    start = time.process_time()
    assert read(text).phonemes
    assert time.process_time() - start < 20
